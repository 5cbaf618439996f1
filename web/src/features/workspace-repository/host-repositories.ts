import type { authorizedReposSchema, githubAppReposSchema, vcsTreeSchema } from '@groundstate/contract/oauth-clients'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString } from '../../api/client.ts'
import type { Choice } from '../../components/picker.tsx'

/** Installations of the GitHub App have ids of their own, in place of that of a token. */
export function isInstallation(connectionId: string) {
  return connectionId.startsWith('ghain-')
}

/**
 * A picker's search for repositories on the host of a connection. `workspaceId` is for users who may change that workspace, but not create
 * others.
 */
export function findHostRepositories(connectionId: string, workspaceId: string | undefined) {
  return async (q: string, signal: AbortSignal): Promise<Choice[]> => {
    const query = queryString({ q, workspace: workspaceId })
    const names = isInstallation(connectionId)
      ? (
          await get<Wire<typeof githubAppReposSchema>>(
            `/github-app-installations/${connectionId}/repos${query}`,
            signal,
          )
        ).data.flatMap(({ attributes }) => attributes.identifier ?? [])
      : (
          await get<Wire<typeof authorizedReposSchema>>(
            `/oauth-tokens/${connectionId}/authorized-repos${query}`,
            signal,
          )
        ).data.map(({ attributes }) => attributes['display-identifier'])
    return names.map((name) => ({ value: name, text: name }))
  }
}

type Directories = { connectionId: string; identifier: string; branch: string; workspaceId: string | undefined }

/** The directories of a repository, as suggestions; a host that cannot say them is no obstacle. */
export function useDirectories(organization: string, input: Directories, { isEnabled }: { isEnabled: boolean }) {
  const { connectionId, identifier, branch, workspaceId } = input
  const query = queryString({
    [isInstallation(connectionId) ? 'githubAppInstallationId' : 'oauth_token_id']: connectionId,
    identifier,
    branch: branch || undefined,
    workspace: workspaceId,
  })
  const { data } = useQuery({
    queryKey: ['vcs-tree', organization, query],
    enabled: isEnabled && connectionId !== '' && identifier !== '',
    retry: false,
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      getData<PageOnWire<typeof vcsTreeSchema>>(`/organizations/${organization}/vcs/tree${query}`, signal),
  })
  return data?.map(({ id }) => id) ?? []
}
