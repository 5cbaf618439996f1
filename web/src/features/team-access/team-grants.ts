import type { projectSchema } from '@groundstate/contract/projects'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { teamProjects, teamWorkspaces } from '@groundstate/contract/team-access'
import type { teamSchema } from '@groundstate/contract/teams'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString } from '../../api/client.ts'
import { includedOf, keepWithin } from '../../api/queries.ts'
import { HIDDEN_TEAM } from './grants.ts'

/** The access of one team, or of all teams of a member. */
export type GrantHolder = { teamId: string } | { membershipId: string }

type Subject = { id: string; name: string; mayManage: boolean }
export type TeamGrant = {
  id: string
  team: { id: string; name: string }
  subject: Subject
  access: { workspace: Wire<typeof teamWorkspaces.resource>['attributes'] } | { project: ProjectAttributes }
}
type ProjectAttributes = Wire<typeof teamProjects.resource>['attributes']

type Search = { q?: string | undefined; page?: number | undefined }
type ListGrants = Search & { kind: 'workspace' | 'project'; holder: GrantHolder }

/** Access to single workspaces or projects by name. `mayManage`: whether the user may change the access of teams there. */
export function useTeamGrants(organization: string, { kind, holder, q, page = 1 }: ListGrants) {
  const filter =
    'teamId' in holder
      ? { 'filter[team][id]': holder.teamId }
      : { 'filter[organization-membership][id]': holder.membershipId }
  const params = { ...filter, q, include: `team,${kind}`, 'page[size]': 20, 'page[number]': page }
  return useQuery({
    queryKey: [`team-${kind}s`, organization, params],
    meta: { dependsOn: ['teams', 'organization-memberships'] },
    queryFn: async ({ signal }) =>
      kind === 'workspace' ? workspaceGrants(queryString(params), signal) : projectGrants(queryString(params), signal),
    placeholderData: keepWithin(organization),
  })
}

async function workspaceGrants(query: string, signal: AbortSignal) {
  type Page = PageOnWire<typeof teamWorkspaces.resource, typeof teamSchema | typeof workspaceSchema>
  const document = await get<Page>(`/team-workspaces${query}`, signal)
  const included = includedOf(document)
  const data = document.data.map(({ id, attributes, relationships: { team, workspace } }): TeamGrant => {
    const subject = included.one('workspaces', workspace)
    return {
      id,
      team: { id: team.data?.id ?? '', name: included.one('teams', team)?.attributes.name ?? HIDDEN_TEAM },
      subject: {
        id: workspace.data?.id ?? '',
        name: subject?.attributes.name ?? 'another workspace',
        mayManage: subject?.attributes.permissions['can-update'] ?? false,
      },
      access: { workspace: attributes },
    }
  })
  return { data, meta: document.meta }
}

async function projectGrants(query: string, signal: AbortSignal) {
  type Page = PageOnWire<typeof teamProjects.resource, typeof teamSchema | typeof projectSchema>
  const document = await get<Page>(`/team-projects${query}`, signal)
  const included = includedOf(document)
  const data = document.data.map(({ id, attributes, relationships: { team, project } }): TeamGrant => {
    const subject = included.one('projects', project)
    return {
      id,
      team: { id: team.data?.id ?? '', name: included.one('teams', team)?.attributes.name ?? HIDDEN_TEAM },
      subject: {
        id: project.data?.id ?? '',
        name: subject?.attributes.name ?? 'another project',
        mayManage: subject?.attributes.permissions['can-manage-teams'] ?? false,
      },
      access: { project: attributes },
    }
  })
  return { data, meta: document.meta }
}

/** Projects or workspaces whose team access the user may change, for a picker. */
export function findGrantable(organization: string, kind: 'workspace' | 'project') {
  return async (text: string, signal: AbortSignal) => {
    const q = kind === 'project' ? { q: text } : { 'search[name]': text }
    const path = `/organizations/${organization}/${kind}s${queryString({ ...q, 'page[size]': 50 })}`
    const data = await getData<PageOnWire<typeof projectSchema | typeof workspaceSchema>>(path, signal)
    return data
      .filter(({ attributes: { permissions } }) =>
        'can-manage-teams' in permissions ? permissions['can-manage-teams'] : permissions['can-update'],
      )
      .map(({ id, attributes }) => ({ value: id, text: attributes.name }))
  }
}
