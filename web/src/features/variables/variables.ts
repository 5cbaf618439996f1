import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { CreateVariable, variableSchema } from '@groundstate/contract/variables'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getData, request } from '../../api/client.ts'
import { invalidate, sendAndRefetch } from '../../api/queries.ts'

export type Variable = Wire<typeof variableSchema>
export type Category = Variable['attributes']['category']

/** Owner of variables: a workspace or a variable set. */
export type VariableOwner = { kind: 'workspace' | 'set'; id: string; organization: string }

function pathOf({ kind, id }: Pick<VariableOwner, 'kind' | 'id'>) {
  return kind === 'workspace' ? `/workspaces/${id}/vars` : `/varsets/${id}/relationships/vars`
}

function keyOf({ kind, id }: VariableOwner) {
  return kind === 'workspace' ? ['vars', id] : ['varsets', id, 'vars']
}

type Source = NonNullable<Variable['attributes']['in-force-by']>

/** A variable of a workspace or of an applicable set. */
export type WorkspaceVariable = {
  id: string
  variable: Variable
  /** Its variable set, on the page of a workspace; undefined for the workspace's own variables. */
  set: Extract<Source, { kind: 'set' }> | undefined
  overwriter: WorkspaceVariable | undefined
  overwritten: readonly WorkspaceVariable[]
}

/** The variables of a set, or those of a workspace and its sets. */
export function useVariables(owner: VariableOwner) {
  const path = owner.kind === 'workspace' ? `/workspaces/${owner.id}/all-vars?overwritten=true` : pathOf(owner)
  return useQuery({
    queryKey: keyOf(owner),
    ...(owner.kind === 'workspace' && { meta: { dependsOn: ['varsets', 'projects'] } }),
    queryFn: async () => linked(await getData<PageOnWire<typeof variableSchema>>(path)),
  })
}

function linked(variables: readonly Variable[]): WorkspaceVariable[] {
  type Linked = WorkspaceVariable & { overwritten: WorkspaceVariable[] }
  const all = variables.map((variable): Linked => {
    const source = variable.attributes['in-force-by']
    const set = source?.kind === 'set' ? source : undefined
    return { id: variable.id, variable, set, overwriter: undefined, overwritten: [] }
  })
  const byId = new Map(all.map((one) => [one.id, one]))
  for (const one of all) {
    one.overwriter = byId.get(one.variable.relationships.overwriter?.data?.id ?? '')
    byId.get(one.overwriter?.id ?? '')?.overwritten.push(one)
  }
  return all.sort(
    (a, b) =>
      a.variable.attributes.key.localeCompare(b.variable.attributes.key) ||
      Number(a.overwriter !== undefined) - Number(b.overwriter !== undefined),
  )
}

/** A workspace's own variables, without those of its sets. */
export async function readOwnVariables(workspaceId: string) {
  return getData<PageOnWire<typeof variableSchema>>(pathOf({ kind: 'workspace', id: workspaceId }))
}

/** Creates a variable, or updates the one with the id. */
export function useSaveVariable(owner: VariableOwner) {
  const path = pathOf(owner)
  return useMutation({
    mutationFn: async ({ id, ...attributes }: Partial<CreateVariable> & { id?: string | undefined }) =>
      id === undefined
        ? request('POST', path, { data: { type: 'vars', attributes } })
        : request('PATCH', `${path}/${id}`, { data: { type: 'vars', id, attributes } }),
    onSettled: async () => invalidate(keyOf(owner), ['varsets', owner.organization]),
  })
}

export async function deleteVariable(owner: VariableOwner, id: string) {
  return sendAndRefetch('DELETE', `${pathOf(owner)}/${id}`, keyOf(owner), ['varsets', owner.organization])
}

export function tfvarsText(variables: readonly Variable[]) {
  return linesOf(
    variables,
    'terraform',
    (key, value, isHcl) => `${key} = ${isHcl ? value : JSON.stringify(value).replaceAll(/([$%])\{/g, '$1$1{')}`,
  )
}

export function envText(variables: readonly Variable[]) {
  const quoted = (value: string) => `"${value.replaceAll(/["\\$]/g, '\\$&').replaceAll('\n', '\\n')}"`
  return linesOf(variables, 'env', (key, value) => `${key}=${/^[\w./:@+-]*$/.test(value) ? value : quoted(value)}`)
}

type Line = (key: string, value: string, isHcl: boolean) => string

function linesOf(variables: readonly Variable[], category: Category, line: Line) {
  return variables
    .filter(({ attributes }) => attributes.category === category)
    .map(({ attributes: { key, value, hcl } }) => (value === null ? `# ${key} is sensitive` : line(key, value, hcl)))
    .map((text) => `${text}\n`)
    .join('')
}
