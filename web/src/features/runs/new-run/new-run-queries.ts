import type { configurationVersionSchema } from '@groundstate/contract/configuration-versions'
import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceResourceSchema } from '@groundstate/contract/workspace-resources'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, queryString, request } from '../../../api/client.ts'
import { includedOf } from '../../../api/queries.ts'
import { holderOf } from '../../workspaces/lock-words.ts'
import type { WorkspaceResource } from '../../workspaces/workspace.ts'
import { engineAddress } from '../resource-address.ts'
import { type NewRun, newRunBody } from './new-run.ts'

export type NewRunContext = NonNullable<ReturnType<typeof useNewRunContext>['data']>

/** The workspace with the configuration that a new run would use, and the run or lock that would block it. */
export function useNewRunContext(workspaceId: string) {
  return useQuery({
    queryKey: ['workspaces', workspaceId, 'start'],
    queryFn: async () => {
      const document = await get<DocumentOnWire<typeof workspaceSchema, Included>>(
        `/workspaces/${workspaceId}?include=current_configuration_version,current_run,locked_by`,
      )
      const included = includedOf(document)
      const { relationships } = document.data
      const lockedBy = relationships['locked-by']
      return {
        workspace: document.data,
        configuration: included.one('configuration-versions', relationships['current-configuration-version']),
        currentRun: included.one('runs', relationships['current-run']),
        holder: holderOf(document.data, included.one('users', lockedBy) ?? included.one('teams', lockedBy)),
      }
    },
  })
}
type Included = typeof configurationVersionSchema | typeof runSchema | typeof userSchema | typeof teamSchema

export function useRunOfConfiguration(versionId: string) {
  return useQuery({
    queryKey: ['configuration-versions', versionId, 'run'],
    staleTime: 60_000,
    queryFn: async () => {
      const version = await get<DocumentOnWire<typeof configurationVersionSchema, typeof runSchema>>(
        `/configuration-versions/${versionId}?include=run`,
      )
      const id = version.data.relationships.run?.data?.id
      if (id === undefined) return null
      const run = await get<DocumentOnWire<typeof runSchema, typeof userSchema>>(`/runs/${id}?include=created_by`)
      const author = includedOf(run).one('users', run.data.relationships['created-by'])
      return { run: run.data, author: author?.attributes.username }
    },
  })
}

/** The engine addresses of a workspace's resources that contain the text. */
export async function findAddresses(workspaceId: string, text: string, signal: AbortSignal) {
  const path = `/workspaces/${workspaceId}/resources${queryString({ q: text, 'page[size]': 20 })}`
  const { data } = await get<PageOnWire<typeof workspaceResourceSchema>>(path, signal)
  const addresses = data.map(({ attributes }) => engineAddress(attributes))
  return addresses.map((address) => ({ value: address, text: address }))
}

export function useCreateRun({ id, relationships }: WorkspaceResource) {
  const queries = useQueryClient()
  const organization = relationships.organization.data?.id ?? ''
  return useMutation({
    mutationFn: async (run: NewRun) =>
      (await request<DocumentOnWire<typeof runSchema>>('POST', '/runs', newRunBody(id, run))).data,
    onSuccess: async () =>
      Promise.all(
        [
          ['runs', id],
          ['runs', organization],
          ['workspaces', organization],
          ['workspaces', id],
          ['overview', organization],
        ].map(async (queryKey) => queries.invalidateQueries({ queryKey })),
      ),
  })
}
