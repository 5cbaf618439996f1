import type { CreateAgentPool, UpdateAgentPool, agentPoolSchema } from '@groundstate/contract/agent-pools'
import type { AgentStatus, agentSchema } from '@groundstate/contract/agents'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { tokenSchema } from '@groundstate/contract/tokens'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { includedOf, keepWithin, sendAndRefetch, useChange } from '../../api/queries.ts'

export type AgentPool = Wire<typeof agentPoolSchema>
export type Agent = Wire<typeof agentSchema>

/** Heartbeats, and agents that stop sending them, are not announced in the event stream (ms). */
const HEARTBEATS_MS = 30_000

type ListSearch = { q?: string | undefined; page?: number | undefined }

export function useAgentPoolList(organization: string, { q, page }: ListSearch) {
  const query = queryString({ q, 'page[size]': 50, 'page[number]': page })
  return useQuery({
    queryKey: ['agent-pools', organization, 'list', query],
    meta: { dependsOn: ['agents'] },
    refetchInterval: HEARTBEATS_MS,
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof agentPoolSchema>>(`/organizations/${organization}/agent-pools${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** A pool with the workspaces that use it, and the workspaces and projects of its scope. */
export function useAgentPool(id: string) {
  return useQuery({
    queryKey: ['agent-pools', id],
    meta: { dependsOn: ['agents', 'workspaces'] },
    refetchInterval: HEARTBEATS_MS,
    queryFn: async ({ signal }) => {
      const include = 'workspaces,allowed_workspaces,excluded_workspaces,allowed_projects'
      type Document = DocumentOnWire<typeof agentPoolSchema, typeof workspaceSchema | typeof projectSchema>
      const document = await get<Document>(`/agent-pools/${id}?include=${include}`, signal)
      const included = includedOf(document)
      const { relationships } = document.data
      const named = (type: 'workspaces' | 'projects', related: { data: readonly { id: string; type: string }[] }) =>
        included.many(type, { data: [...related.data] }).map((one) => ({ id: one.id, name: one.attributes.name }))
      return {
        pool: document.data,
        workspaces: named('workspaces', relationships.workspaces),
        scope: {
          'allowed-workspaces': named('workspaces', relationships['allowed-workspaces']),
          'allowed-projects': named('projects', relationships['allowed-projects']),
          'excluded-workspaces': named('workspaces', relationships['excluded-workspaces']),
        },
      }
    },
  })
}
export type ShownPool = NonNullable<ReturnType<typeof useAgentPool>['data']>
export type ScopeName = keyof ShownPool['scope']

/** Statuses of agents that are shown by default: exited ones remain for a month. */
const PRESENT: readonly AgentStatus[] = ['idle', 'busy', 'unknown', 'errored']

type AgentSearch = ListSearch & { status?: string | undefined }

export function useAgents(organization: string, poolId: string, { q, status, page }: AgentSearch) {
  const query = queryString({
    q,
    'filter[status]': status ?? PRESENT.join(','),
    sort: 'name',
    'page[size]': 50,
    'page[number]': page,
  })
  return useQuery({
    queryKey: ['agents', organization, poolId, query],
    refetchInterval: HEARTBEATS_MS,
    queryFn: async ({ signal }) => get<PageOnWire<typeof agentSchema>>(`/agent-pools/${poolId}/agents${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

export function useCreateAgentPool(organization: string) {
  return useChange(
    async (attributes: CreateAgentPool['attributes']) =>
      request<DocumentOnWire<typeof agentPoolSchema>>('POST', `/organizations/${organization}/agent-pools`, {
        data: { type: 'agent-pools', attributes },
      }),
    ['agent-pools', organization],
    ['overview', organization],
  )
}

export function useUpdateAgentPool(id: string) {
  return useChange(
    async (changes: Partial<Pick<UpdateAgentPool, 'attributes' | 'relationships'>>) =>
      request('PATCH', `/agent-pools/${id}`, { data: { id, type: 'agent-pools', ...changes } }),
    ['agent-pools'],
  )
}

export async function deleteAgent(organization: string, id: string) {
  return sendAndRefetch('DELETE', `/agents/${id}`, ['agents', organization], ['agent-pools'])
}

/** Known agents of a pool, beyond which the new ones are recognised by their creation. */
const MAX_KNOWN = 100

/** Creates a token for agents of the pool. `known` are the agents that are already online. */
export function useCreateAgentToken(poolId: string) {
  return useChange(
    async (description: string) => {
      const query = queryString({ 'filter[status]': 'idle,busy', 'page[size]': MAX_KNOWN })
      const known = await getData<PageOnWire<typeof agentSchema>>(`/agent-pools/${poolId}/agents${query}`)
      const { data } = await request<DocumentOnWire<typeof tokenSchema>>(
        'POST',
        `/agent-pools/${poolId}/authentication-tokens`,
        { data: { type: 'authentication-tokens', attributes: { description } } },
      )
      return {
        secret: data.attributes.token ?? '',
        at: data.attributes['created-at'],
        known: new Set(known.map(({ id }) => id)),
      }
    },
    ['tokens', poolId],
  )
}

/** Agents that have connected since a token was created, live. */
export function useNewAgents(
  organization: string,
  poolId: string,
  { at, known }: { at: string; known: ReadonlySet<string> },
) {
  const query = queryString({ 'filter[last-ping-since]': at, sort: '-created-at', 'page[size]': MAX_KNOWN })
  const { data } = useQuery({
    queryKey: ['agents', organization, poolId, 'new', at],
    queryFn: async ({ signal }) =>
      getData<PageOnWire<typeof agentSchema>>(`/agent-pools/${poolId}/agents${query}`, signal),
  })
  const isNew = ({ id, attributes }: Agent) =>
    known.size < MAX_KNOWN ? !known.has(id) : Date.parse(attributes['created-at']) >= Date.parse(at)
  return (data ?? []).filter(isNew)
}
