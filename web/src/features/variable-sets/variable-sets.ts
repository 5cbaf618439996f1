import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type {
  CreateVariableSet,
  UpdateVariableSet,
  setWorkspaceSchema,
  variableSetSchema,
} from '@groundstate/contract/variable-sets'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { includedOf, isOfScope, keepWithin, useChange } from '../../api/queries.ts'
import { counted } from '../../components/numbers.ts'
import type { Choice } from '../../components/picker.tsx'

export type VariableSet = Wire<typeof variableSetSchema>
export type SetWorkspace = Wire<typeof setWorkspaceSchema>

type ListSearch = { q?: string | undefined; scope?: string | undefined; page?: number | undefined }
type SetPage = PageOnWire<typeof variableSetSchema, typeof projectSchema>

/** The sets of an organization and of its projects. `scope` is `global` or `selected`. */
export function useVariableSets(organization: string, { q, scope, page }: ListSearch) {
  const query = queryString({
    q,
    'filter[global]': scope === undefined ? undefined : String(scope === 'global'),
    'page[size]': 50,
    'page[number]': page,
  })
  return useSetPage(organization, `/organizations/${organization}/varsets${query}`)
}

/** The sets that are effective in a project. */
export function useProjectSets(organization: string, projectId: string, { q, page }: ListSearch) {
  const query = queryString({ q, 'page[size]': 50, 'page[number]': page })
  return useSetPage(organization, `/projects/${projectId}/varsets${query}`)
}

function useSetPage(organization: string, path: string) {
  return useQuery({
    queryKey: ['varsets', organization, path],
    queryFn: async ({ signal }) => get<SetPage>(path, signal),
    placeholderData: (before, previous) =>
      isOfScope(previous, organization) && samePath(previous?.queryKey[2], path) ? before : undefined,
  })
}

function samePath(previous: unknown, path: string) {
  return typeof previous === 'string' && previous.split('?')[0] === path.split('?')[0]
}

/** A set with the workspaces and projects to which it was applied. */
export function useVariableSet(id: string) {
  return useQuery({
    queryKey: ['varsets', id],
    queryFn: async ({ signal }) => {
      const document = await get<
        DocumentOnWire<typeof variableSetSchema, typeof workspaceSchema | typeof projectSchema>
      >(`/varsets/${id}?include=workspaces,projects`, signal)
      const included = includedOf(document)
      const { relationships } = document.data
      return {
        set: document.data,
        workspaces: included.many('workspaces', relationships.workspaces),
        projects: included.many('projects', relationships.projects),
      }
    },
  })
}
export type ShownSet = NonNullable<ReturnType<typeof useVariableSet>['data']>

/** The workspaces to which a set applies, with the names of their projects. */
export function useSetWorkspaces(id: string, { q, scope, page }: ListSearch) {
  const query = queryString({ q, 'filter[scope]': scope, 'page[size]': 20, 'page[number]': page, include: 'project' })
  return useQuery({
    queryKey: ['varsets', id, 'workspaces', query],
    meta: { dependsOn: ['vars', 'workspaces', 'projects'] },
    queryFn: async ({ signal }) => {
      type Page = PageOnWire<typeof setWorkspaceSchema, typeof projectSchema>
      const document = await get<Page>(`/varsets/${id}/effective-workspaces${query}`, signal)
      const included = includedOf(document)
      const data = document.data.map((row) => ({
        ...row,
        project: included.one('projects', row.relationships.project)?.attributes.name,
      }))
      return { ...document, data }
    },
    placeholderData: keepWithin(id),
  })
}

/** Changes of a set change the variables of workspaces. */
export const AFFECTED = [['varsets'], ['vars']] as const

export function useCreateVariableSet(organization: string) {
  return useChange(
    async (data: Pick<CreateVariableSet, 'attributes'> & Partial<Pick<CreateVariableSet, 'relationships'>>) =>
      request<DocumentOnWire<typeof variableSetSchema>>('POST', `/organizations/${organization}/varsets`, {
        data: { type: 'varsets', ...data },
      }),
    ...AFFECTED,
  )
}

export function useUpdateVariableSet(id: string) {
  return useChange(
    async (attributes: UpdateVariableSet['attributes']) =>
      request('PATCH', `/varsets/${id}`, { data: { id, type: 'varsets', attributes } }),
    ...AFFECTED,
  )
}

export type ScopeChange = { method: 'POST' | 'DELETE'; kind: 'workspaces' | 'projects'; setId: string; id: string }

/** Applies a set to a workspace or project, or removes it from one. */
export function useChangeScope() {
  return useChange(
    async ({ method, kind, setId, id }: ScopeChange) =>
      request(method, `/varsets/${setId}/relationships/${kind}`, { data: [{ type: kind, id }] }),
    ...AFFECTED,
  )
}

/** The organization's own sets, for a picker, except for some ids. */
export async function findVariableSets(
  organization: string,
  except: ReadonlySet<string>,
  [q, signal]: readonly [string, AbortSignal],
): Promise<Choice[]> {
  const query = queryString({ q, 'filter[global]': 'false', scope: 'owned', 'page[size]': 30 })
  const data = await getData<PageOnWire<typeof variableSetSchema>>(
    `/organizations/${organization}/varsets${query}`,
    signal,
  )
  return data
    .filter(({ id, attributes }) => !except.has(id) && attributes.permissions['can-update'])
    .map(({ id, attributes }) => ({ value: id, text: attributes.name }))
}

/** Scope of a set: "All workspaces", "2 projects, 1 workspace". */
export function scopeText({ attributes, relationships }: VariableSet) {
  const isOfProject = relationships.parent.data?.type === 'projects'
  if (attributes.global) return isOfProject ? 'All workspaces of its project' : 'All workspaces'
  const { 'project-count': projects, 'workspace-count': workspaces } = attributes
  const parts = [
    projects > 0 && counted(projects, 'project'),
    workspaces > 0 && counted(workspaces, 'workspace'),
  ].filter(Boolean)
  return parts.length === 0 ? 'No workspaces' : parts.join(', ')
}

/** Whether a project owns the set, which then applies only there; otherwise the organization does. */
export function owningProject({ relationships: { parent } }: VariableSet) {
  return parent.data?.type === 'projects' ? parent.data.id : undefined
}

export const PRIORITY_HINT =
  'Its variables can’t be overridden: they take precedence over those of workspaces, the CLI and sets without priority.'

/** The options of a set's scope. */
export function scopeOptions(isOfProject: boolean) {
  return [
    {
      value: 'global',
      text: isOfProject ? 'All workspaces of the project' : 'All workspaces',
      about: `Every workspace of the ${isOfProject ? 'project' : 'organization'}, including those created later.`,
    },
    {
      value: 'selected',
      text: isOfProject ? 'Selected workspaces' : 'Selected projects and workspaces',
      about: isOfProject ? 'Only those that you select.' : 'All workspaces of the projects, and single workspaces.',
    },
  ]
}
