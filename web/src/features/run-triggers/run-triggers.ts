import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { dependencyGraphSchema, runTriggerSchema, triggerChainSchema } from '@groundstate/contract/run-triggers'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { isOfScope, useChange } from '../../api/queries.ts'

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

/** Adds a trigger to the workspace, by the id of its source. */
export function useAddTrigger(workspaceId: string) {
  return useChange(
    async (id: string) =>
      request('POST', `/workspaces/${workspaceId}/run-triggers`, {
        data: { type: 'run-triggers', relationships: { sourceable: { data: { type: 'workspaces', id } } } },
      }),
    ['run-triggers', workspaceId],
  )
}

export function useRemoveTrigger(workspaceId: string) {
  return useChange(async (id: string) => request('DELETE', `/run-triggers/${id}`), ['run-triggers', workspaceId])
}

/** Runs that triggered a run, and runs that it triggered. */
export function useTriggerChain(runId: string | undefined) {
  return useQuery({
    queryKey: ['runs', runId, 'trigger-chain'],
    enabled: runId !== undefined,
    queryFn: async () =>
      (await getData<DocumentOnWire<typeof triggerChainSchema>>(`/runs/${runId}/trigger-chain`)).attributes,
  })
}

/** The names of the other workspaces in the trigger cycle of the workspace, if any. */
export function useCycle(organization: string, workspaceId: string, isPossible: boolean) {
  const { data: names = [] } = useQuery({
    queryKey: ['run-triggers', workspaceId, 'cycle'],
    enabled: isPossible,
    queryFn: async () => {
      const path = `/organizations/${organization}/dependency-graph`
      const { workspaces } = (await getData<DocumentOnWire<typeof dependencyGraphSchema>>(path)).attributes
      const cycle = workspaces.find(({ id }) => id === workspaceId)?.cycle ?? null
      const others = workspaces.filter((other) => cycle !== null && other.cycle === cycle && other.id !== workspaceId)
      return others.map(({ name }) => name)
    },
  })
  return names
}
