import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { TeamWorkspaceInput, teamProjects, teamWorkspaces } from '@groundstate/contract/team-access'
import type { teamSchema } from '@groundstate/contract/teams'
import { useQuery } from '@tanstack/react-query'
import { getData, queryString, request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'

export type TeamWorkspace = Wire<typeof teamWorkspaces.resource>
export type TeamProject = Wire<typeof teamProjects.resource>
export type AccessInput = TeamWorkspaceInput

/** Teams' access to the workspace: all teams for its administrators, the user's own teams otherwise. */
export function useTeamWorkspaces(workspaceId: string) {
  const query = queryString({ 'filter[workspace][id]': workspaceId })
  return useQuery({
    queryKey: ['team-workspaces', workspaceId],
    queryFn: async () => getData<PageOnWire<typeof teamWorkspaces.resource>>(`/team-workspaces${query}`),
  })
}

/** Teams' access to the workspace's project; none where the user may not see the project. */
export function useTeamProjects(projectId: string | undefined) {
  const query = queryString({ 'filter[project][id]': projectId })
  return useQuery({
    queryKey: ['team-projects', projectId],
    enabled: projectId !== undefined,
    queryFn: async () => getData<PageOnWire<typeof teamProjects.resource>>(`/team-projects${query}`),
  })
}

/** The visible teams with the text in their names. */
export async function findTeams(organization: string, text: string, signal?: AbortSignal) {
  const query = queryString({ q: text, 'page[size]': 100 })
  return getData<PageOnWire<typeof teamSchema>>(`/organizations/${organization}/teams${query}`, signal)
}

export function useTeams(organization: string) {
  return useQuery({
    queryKey: ['teams', organization, 'first'],
    staleTime: 60_000,
    queryFn: async () => findTeams(organization, ''),
  })
}

/** The queries to invalidate: changing a team's access may change the user's own. */
const keys = (workspaceId: string) => [['team-workspaces', workspaceId], ['workspaces']]

export function useAddTeam(workspaceId: string) {
  const workspace = { data: { type: 'workspaces', id: workspaceId } }
  return useChange(
    async ({ teamId, attributes }: { teamId: string; attributes: AccessInput }) => {
      const relationships = { team: { data: { type: 'teams', id: teamId } }, workspace }
      return request('POST', '/team-workspaces', { data: { type: 'team-workspaces', attributes, relationships } })
    },
    ...keys(workspaceId),
  )
}

export function useChangeTeam(workspaceId: string) {
  return useChange(
    async ({ id, attributes }: { id: string; attributes: AccessInput }) =>
      request('PATCH', `/team-workspaces/${id}`, { data: { type: 'team-workspaces', attributes } }),
    ...keys(workspaceId),
  )
}

export function useRemoveTeam(workspaceId: string) {
  return useChange(async (id: string) => request('DELETE', `/team-workspaces/${id}`), ...keys(workspaceId))
}
