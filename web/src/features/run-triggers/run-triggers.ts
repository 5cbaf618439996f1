import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { dependencyGraphSchema, runTriggerSchema, triggerChainSchema } from '@groundstate/contract/run-triggers'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { isOfScope } from '../../api/queries.ts'

export type RunTrigger = Wire<typeof runTriggerSchema>
export type TriggerChain = Wire<typeof triggerChainSchema>['attributes']

/** The triggers that start runs in the workspace (`inbound`), or those that its applies fire (`outbound`). */
export function useRunTriggers(workspaceId: string, type: 'inbound' | 'outbound', page = 1) {
  return useQuery({
    queryKey: ['run-triggers', workspaceId, type, page],
    placeholderData: (before, query) => (isOfScope(query, workspaceId) ? before : undefined),
    queryFn: async () => {
      const query = queryString({ 'filter[run-trigger][type]': type, 'page[size]': 50, 'page[number]': page })
      return get<PageOnWire<typeof runTriggerSchema>>(`/workspaces/${workspaceId}/run-triggers${query}`)
    },
  })
}

/** Lets applies of the source start runs in the workspace. */
export function useAddTrigger(workspaceId: string) {
  return useChange(workspaceId, async (sourceId: string) =>
    request('POST', `/workspaces/${workspaceId}/run-triggers`, {
      data: {
        type: 'run-triggers',
        relationships: { sourceable: { data: { type: 'workspaces', id: sourceId } } },
      },
    }),
  )
}

export function useRemoveTrigger(workspaceId: string) {
  return useChange(workspaceId, async (id: string) => request('DELETE', `/run-triggers/${id}`))
}

function useChange<Input>(workspaceId: string, mutationFn: (input: Input) => Promise<unknown>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn,
    onSuccess: async () => queries.invalidateQueries({ queryKey: ['run-triggers', workspaceId] }),
  })
}

/** Runs that triggered a run, and runs that it triggered. */
export function useTriggerChain(runId: string | undefined) {
  return useQuery({
    queryKey: ['runs', runId, 'trigger-chain'],
    enabled: runId !== undefined,
    queryFn: async () =>
      (await get<DocumentOnWire<typeof triggerChainSchema>>(`/runs/${runId}/trigger-chain`)).data.attributes,
  })
}

/** The names of the other workspaces in the circle that the workspace is in; empty for none. */
export function useCircle(organization: string, workspaceId: string, isPossible: boolean) {
  const { data } = useQuery({
    queryKey: ['run-triggers', workspaceId, 'circle'],
    enabled: isPossible,
    queryFn: async () => {
      const { data: graph } = await get<DocumentOnWire<typeof dependencyGraphSchema>>(
        `/organizations/${organization}/dependency-graph`,
      )
      const { workspaces } = graph.attributes
      const cycle = workspaces.find(({ id }) => id === workspaceId)?.cycle ?? null
      return workspaces.filter((other) => cycle !== null && other.cycle === cycle && other.id !== workspaceId)
    },
  })
  return (data ?? []).map(({ name }) => name)
}
