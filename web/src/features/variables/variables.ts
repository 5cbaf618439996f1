import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { CreateVariable, variableSchema } from '@groundstate/contract/variables'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'

export type Variable = Wire<typeof variableSchema>
export type Category = Variable['attributes']['category']

type Source = NonNullable<Variable['attributes']['in-force-by']>

/** A variable that applies to a workspace: where it comes from, and whether a run gets it. */
export type Sourced = {
  id: string
  variable: Variable
  /** The set that it belongs to; undefined for a workspace's own. */
  set: Extract<Source, { kind: 'set' }> | undefined
  /** The variable of the same name that a run gets in its place. */
  overwriter: Sourced | undefined
  /** Those of the same name that it takes precedence over. */
  overwritten: readonly Sourced[]
}

/** Variables of a workspace and its sets, each with the one that overrides it. */
export function useVariables(workspaceId: string) {
  return useQuery({
    queryKey: ['vars', workspaceId],
    meta: { alsoAbout: ['varsets', 'projects'] },
    queryFn: async () =>
      sourced(
        (await get<PageOnWire<typeof variableSchema>>(`/workspaces/${workspaceId}/all-vars?overwritten=true`)).data,
      ),
  })
}

/** Joins variables with those whose place they take. */
function sourced(variables: readonly Variable[]): Sourced[] {
  const byId = new Map(
    variables.map((variable) => {
      const source = variable.attributes['in-force-by']
      const set = source?.kind === 'set' ? source : undefined
      return [
        variable.id,
        { id: variable.id, variable, set, overwriter: undefined as Sourced | undefined, overwritten: [] as Sourced[] },
      ]
    }),
  )
  for (const loser of byId.values()) {
    const winner = byId.get(loser.variable.relationships.overwriter?.data?.id ?? '')
    if (!winner) continue
    loser.overwriter = winner
    winner.overwritten.push(loser)
  }
  return [...byId.values()].sort(compare)
}

/** By name; the one that a run gets before those that it does not. */
function compare(a: Sourced, b: Sourced) {
  const byKey = a.variable.attributes.key.localeCompare(b.variable.attributes.key)
  return byKey === 0 ? Number(a.overwriter !== undefined) - Number(b.overwriter !== undefined) : byKey
}

/** A workspace's own variables, for a copy to another one. */
export async function readOwnVariables(workspaceId: string) {
  return (await get<PageOnWire<typeof variableSchema>>(`/workspaces/${workspaceId}/vars`)).data
}

export function useSaveVariable(workspaceId: string) {
  const refresh = useRefresh(workspaceId)
  return useMutation({
    mutationFn: async ({ id, ...attributes }: Partial<CreateVariable> & { id?: string | undefined }) =>
      request(
        id === undefined ? 'POST' : 'PATCH',
        `/workspaces/${workspaceId}/vars${id === undefined ? '' : `/${id}`}`,
        {
          data: { type: 'vars', ...(id !== undefined && { id }), attributes },
        },
      ),
    onSettled: refresh,
  })
}

export function useDeleteVariable(workspaceId: string) {
  const refresh = useRefresh(workspaceId)
  return useMutation({
    mutationFn: async (id: string) => request('DELETE', `/workspaces/${workspaceId}/vars/${id}`),
    onSettled: refresh,
  })
}

function useRefresh(workspaceId: string) {
  const queries = useQueryClient()
  return async () => queries.invalidateQueries({ queryKey: ['vars', workspaceId] })
}

/** Terraform variables as a `.tfvars` file; the values of sensitive ones are not known here. */
export function tfvarsText(variables: readonly Variable[]) {
  return linesOf(
    variables,
    'terraform',
    (key, value, isHcl) => `${key} = ${isHcl ? value : JSON.stringify(value).replaceAll(/([$%])\{/g, '$1$1{')}`,
  )
}

/** Environment variables as a `.env` file. */
export function envText(variables: readonly Variable[]) {
  return linesOf(variables, 'env', (key, value) => `${key}=${/^[\w./:@+-]*$/.test(value) ? value : quoted(value)}`)
}

function quoted(value: string) {
  return `"${value.replaceAll(/["\\$]/g, '\\$&').replaceAll('\n', '\\n')}"`
}

function linesOf(
  variables: readonly Variable[],
  category: string,
  line: (key: string, value: string, isHcl: boolean) => string,
) {
  return variables
    .filter(({ attributes }) => attributes.category === category)
    .map(({ attributes: { key, value, hcl } }) => (value === null ? `# ${key} is sensitive` : line(key, value, hcl)))
    .map((text) => `${text}\n`)
    .join('')
}
