import type { CreateProject, UpdateProject, projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { effectiveTagBindingSchema } from '@groundstate/contract/tags'
import { useQuery } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, keepWithin, useChange } from '../../api/queries.ts'
import { type Tag, tagLinkage } from '../workspaces/tag-filter.ts'

export type Project = Wire<typeof projectSchema>
type ProjectDocument = DocumentOnWire<typeof projectSchema, typeof effectiveTagBindingSchema>

type ProjectSearch = { q?: string | undefined; page?: number | undefined; sort?: string | undefined }

export function useProjects(organization: string, { q, page, sort }: ProjectSearch) {
  const query = queryString({ q, sort, 'page[size]': 50, 'page[number]': page })
  return useQuery({
    queryKey: ['projects', organization, 'list', query],
    // The rows count workspaces and teams.
    meta: { dependsOn: ['workspaces'] },
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof projectSchema>>(`/organizations/${organization}/projects${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** A project with its tags. */
export function useProject(id: string) {
  return useQuery({
    queryKey: ['projects', id],
    meta: { dependsOn: ['workspaces'] },
    queryFn: async ({ signal }) => {
      const document = await get<ProjectDocument>(`/projects/${id}?include=effective_tag_bindings`, signal)
      const bindings = includedOf(document).many(
        'effective-tag-bindings',
        document.data.relationships['effective-tag-bindings'],
      )
      const tags = bindings.map(({ attributes: { key, value } }): Tag => ({ key, value }))
      return { project: document.data, tags }
    },
  })
}

export function useCreateProject(organization: string) {
  return useChange(
    async (attributes: CreateProject['attributes']) =>
      request<ProjectDocument>('POST', `/organizations/${organization}/projects`, {
        data: { type: 'projects', attributes },
      }),
    ['projects', organization],
  )
}

/** Workspaces show the name of their project, and inherit settings and tags. */
const AFFECTED = [['projects'], ['workspaces']] as const

export function useUpdateProject(id: string) {
  return useChange(
    async (changes: Partial<Pick<UpdateProject, 'attributes' | 'relationships'>>) =>
      request('PATCH', `/projects/${id}`, { data: { id, type: 'projects', ...changes } }),
    ...AFFECTED,
  )
}

export function useReplaceProjectTags(id: string) {
  return useChange(
    async (tags: readonly Tag[]) =>
      request('PATCH', `/projects/${id}/relationships/tag-bindings`, { data: tags.map(tagLinkage) }),
    ...AFFECTED,
  )
}

/** Moves workspaces into the project. */
export function useMoveWorkspaces(projectId: string) {
  return useChange(
    async (ids: readonly string[]) =>
      request('POST', `/projects/${projectId}/relationships/workspaces`, {
        data: ids.map((id) => ({ type: 'workspaces', id })),
      }),
    ...AFFECTED,
  )
}

export type ShownProject = NonNullable<ReturnType<typeof useProject>['data']>
