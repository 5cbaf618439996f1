import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { TeamWorkspaceInput, teamProjects, teamWorkspaces } from '@groundstate/contract/team-access'
import type { teamSchema } from '@groundstate/contract/teams'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'

export type TeamWorkspace = Wire<typeof teamWorkspaces.resource>
export type TeamProject = Wire<typeof teamProjects.resource>
export type AccessInput = TeamWorkspaceInput

/** Teams' access to the workspace: all teams for its administrators, the user's own teams otherwise. */
export function useTeamWorkspaces(workspaceId: string) {
  return useQuery({
    queryKey: ['team-workspaces', workspaceId],
    queryFn: async () => {
      const query = queryString({ 'filter[workspace][id]': workspaceId })
      return (await get<PageOnWire<typeof teamWorkspaces.resource>>(`/team-workspaces${query}`)).data
    },
  })
}

/** Teams' access to the workspace's project; none where the user may not see the project. */
export function useTeamProjects(projectId: string | undefined) {
  return useQuery({
    queryKey: ['team-projects', projectId],
    enabled: projectId !== undefined,
    queryFn: async () => {
      const query = queryString({ 'filter[project][id]': projectId })
      return (await get<PageOnWire<typeof teamProjects.resource>>(`/team-projects${query}`)).data
    },
  })
}

/** The teams that the person sees, by name. */
export async function findTeams(organization: string, text: string, signal?: AbortSignal) {
  const query = queryString({ q: text, 'page[size]': 100 })
  return (await get<PageOnWire<typeof teamSchema>>(`/organizations/${organization}/teams${query}`, signal)).data
}

export function useTeams(organization: string) {
  return useQuery({
    queryKey: ['teams', organization, 'first'],
    staleTime: 60_000,
    queryFn: async () => findTeams(organization, ''),
  })
}

export function useAddTeam(workspaceId: string) {
  return useChange(workspaceId, async ({ teamId, attributes }: { teamId: string; attributes: AccessInput }) =>
    request('POST', '/team-workspaces', {
      data: {
        type: 'team-workspaces',
        attributes,
        relationships: {
          team: { data: { type: 'teams', id: teamId } },
          workspace: { data: { type: 'workspaces', id: workspaceId } },
        },
      },
    }),
  )
}

export function useChangeTeam(workspaceId: string) {
  return useChange(workspaceId, async ({ id, attributes }: { id: string; attributes: AccessInput }) =>
    request('PATCH', `/team-workspaces/${id}`, { data: { type: 'team-workspaces', attributes } }),
  )
}

export function useRemoveTeam(workspaceId: string) {
  return useChange(workspaceId, async (id: string) => request('DELETE', `/team-workspaces/${id}`))
}

/** Changing a team's access may change the user's own, so the workspace is read again. */
function useChange<Input>(workspaceId: string, mutationFn: (input: Input) => Promise<unknown>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn,
    onSuccess: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['team-workspaces', workspaceId] }),
        queries.invalidateQueries({ queryKey: ['workspaces'] }),
      ]),
  })
}
