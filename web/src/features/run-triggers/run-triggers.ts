import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type {
  dependencyGraphSchema,
  listedRunTriggerSchema,
  runTriggerSchema,
} from '@groundstate/contract/run-triggers'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get, getData, queryString, request } from '../../api/client.ts'
import { keepWithin, sendAndRefetch, useChange } from '../../api/queries.ts'
import type { Choice } from '../../components/picker.tsx'

export type RunTrigger = Wire<typeof runTriggerSchema>
export type ListedTrigger = Wire<typeof listedRunTriggerSchema>
export type DependencyGraph = Wire<typeof dependencyGraphSchema>['attributes']
export type GraphWorkspace = DependencyGraph['workspaces'][number]
export type GraphTrigger = DependencyGraph['triggers'][number]

export const triggersRoute = getRouteApi('/frame/app/$organization/run-triggers')
export type TriggersSearch = ReturnType<typeof triggersRoute.useSearch>

/** The type of the organization's queries about triggers, which depend on runs too; their scope is the organization. */
const GRAPH = 'dependency-graph'

export function useDependencyGraph(organization: string, { isEnabled = true } = {}) {
  return useQuery({
    enabled: isEnabled,
    queryKey: [GRAPH, organization],
    queryFn: async () => {
      const path = `/organizations/${organization}/dependency-graph`
      return (await getData<DocumentOnWire<typeof dependencyGraphSchema>>(path)).attributes
    },
  })
}

export function useTriggerList(organization: string, { q, project, sort, page }: TriggersSearch) {
  const query = queryString({ q, 'filter[project][id]': project, sort, 'page[number]': page })
  return useQuery({
    queryKey: [GRAPH, organization, 'list', query],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof listedRunTriggerSchema>>(`/organizations/${organization}/run-triggers${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

type NewTrigger = { workspaceId: string; sourceId: string }

export function useAddTrigger() {
  return useChange(
    async ({ workspaceId, sourceId }: NewTrigger) =>
      request('POST', `/workspaces/${workspaceId}/run-triggers`, {
        data: { type: 'run-triggers', relationships: { sourceable: { data: { type: 'workspaces', id: sourceId } } } },
      }),
    [GRAPH],
    ['run-triggers'],
  )
}

export async function removeTrigger(id: string) {
  await sendAndRefetch('DELETE', `/run-triggers/${id}`, [GRAPH], ['run-triggers'])
}

/** A picker's search for workspaces in which the user may add triggers. */
export function findDestinations(organization: string, except: string | undefined) {
  return async (text: string, signal: AbortSignal): Promise<Choice[]> => {
    const query = queryString({ 'search[name]': text, 'page[size]': 50 })
    const path = `/organizations/${organization}/workspaces${query}`
    const data = await getData<PageOnWire<typeof workspaceSchema>>(path, signal)
    return data
      .filter(({ id, attributes }) => id !== except && attributes.permissions['can-update'])
      .map(({ id, attributes }) => ({ value: id, text: attributes.name }))
  }
}

/** Workspaces of each cycle, by its number. */
export function cyclesOf({ workspaces }: DependencyGraph): [number: number, names: string[]][] {
  const inCycles = workspaces.flatMap(({ name, cycle }) => (cycle === null ? [] : [{ name, cycle }]))
  return [...Map.groupBy(inCycles, ({ cycle }) => cycle)].map(([cycle, members]) => [
    cycle,
    members.map(({ name }) => name),
  ])
}
