import type { DocumentOnWire, Wire } from '@groundstate/contract/responses'
import type {
  IdentityPhase,
  IdentityProvider,
  identityTokenPreviewSchema,
  workloadIdentitySchema,
} from '@groundstate/contract/workspace-identity'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getData, request } from '../../api/client.ts'

export type WorkloadIdentity = Wire<typeof workloadIdentitySchema>['attributes']
export type TokenPreview = Wire<typeof identityTokenPreviewSchema>['attributes']

/** Services that can trust runs. */
export const PROVIDERS = {
  aws: 'AWS',
  gcp: 'Google Cloud',
  azure: 'Azure',
  vault: 'Vault',
  kubernetes: 'Kubernetes',
  hcp: 'HCP',
  token: 'Other service',
} as const satisfies Record<IdentityProvider, string>

/** The identity of a workspace’s runs. Its variables and those of sets configure the credentials, and names are part of the subject. */
export function useWorkloadIdentity(workspaceId: string) {
  return useQuery({
    queryKey: ['workload-identity', workspaceId],
    meta: { dependsOn: ['vars', 'varsets', 'projects', 'workspaces', 'organizations'] },
    queryFn: async ({ signal }) =>
      (
        await getData<DocumentOnWire<typeof workloadIdentitySchema>>(
          `/workspaces/${workspaceId}/workload-identity`,
          signal,
        )
      ).attributes,
  })
}

/** Shows the claims that a token would have. An empty audience is that of the first configured credential. */
export function usePreviewToken(workspaceId: string) {
  return useMutation({
    mutationFn: async ({ phase, audience }: { phase: IdentityPhase; audience: string }): Promise<TokenPreview> => {
      const { data } = await request<DocumentOnWire<typeof identityTokenPreviewSchema>>(
        'POST',
        `/workspaces/${workspaceId}/actions/preview-identity-token`,
        {
          data: {
            type: 'identity-token-previews',
            attributes: { phase, ...(audience.trim() !== '' && { audience: audience.trim() }) },
          },
        },
      )
      return data.attributes
    },
  })
}
