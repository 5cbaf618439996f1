import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { teamProjects, teamWorkspaces } from '@groundstate/contract/team-access'
import type { teamSchema } from '@groundstate/contract/teams'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { includedOf, sendAndRefetch, useChange } from '../../api/queries.ts'

type GrantSchemas = {
  workspace: (typeof teamWorkspaces)['resource']
  project: (typeof teamProjects)['resource']
}
export type GrantKind = keyof GrantSchemas
export type GrantAttributes<Kind extends GrantKind> = Wire<GrantSchemas[Kind]>['attributes']
export type GrantSubject = { kind: GrantKind; id: string; name: string }

/** In place of the name of a team that the user may not see. */
export const HIDDEN_TEAM = 'another team'

/** A team's access; `teamId` and `team` name the team, as far as the user may see it. */
export type Grant<Kind extends GrantKind> = {
  id: string
  teamId: string | undefined
  team: string
  attributes: GrantAttributes<Kind>
}

/** Teams' access to a workspace or project: all teams for those who may see them, the user's own teams otherwise. */
export function useGrants<Kind extends GrantKind>(kind: Kind, subjectId: string | undefined) {
  type Page = PageOnWire<GrantSchemas[Kind], typeof teamSchema>
  const query = queryString({ [`filter[${kind}][id]`]: subjectId, include: 'team' })
  return useQuery({
    queryKey: [`team-${kind}s`, subjectId],
    enabled: subjectId !== undefined,
    queryFn: async ({ signal }) => {
      const document = await get<Page>(`/team-${kind}s${query}`, signal)
      const included = includedOf(document)
      return document.data.map(({ id, attributes, relationships: { team } }): Grant<Kind> => ({
        id,
        teamId: team.data?.id,
        team: included.one('teams', team)?.attributes.name ?? HIDDEN_TEAM,
        attributes: attributes as GrantAttributes<Kind>,
      }))
    },
  })
}

/** Teams without access, for a picker. The owners have all access anyway. */
export async function findOtherTeams(
  organization: string,
  except: ReadonlySet<string | undefined>,
  [text, signal]: readonly [string, AbortSignal],
) {
  const path = `/organizations/${organization}/teams${queryString({ q: text, 'page[size]': 100 })}`
  const teams = await getData<PageOnWire<typeof teamSchema>>(path, signal)
  return teams
    .filter(({ id, attributes }) => !except.has(id) && attributes.name !== 'owners')
    .map(({ id, attributes }) => ({ value: id, text: attributes.name }))
}

/** The queries to invalidate: changing a team's access may change the user's own. */
function keys({ kind, id }: GrantSubject) {
  return [[`team-${kind}s`, id], ['workspaces'], ['projects']]
}

/** Adds a team, or changes the access of the grant with the id. */
export function useSaveGrant(subject: GrantSubject) {
  const type = `team-${subject.kind}s`
  return useChange(
    async ({ id, teamId, attributes }: { attributes: object; id?: string; teamId?: string }) =>
      id === undefined
        ? request('POST', `/${type}`, {
            data: {
              type,
              attributes,
              relationships: {
                team: { data: { type: 'teams', id: teamId } },
                [subject.kind]: { data: { type: `${subject.kind}s`, id: subject.id } },
              },
            },
          })
        : request('PATCH', `/${type}/${id}`, { data: { type, attributes } }),
    ...keys(subject),
  )
}

export async function removeGrant(subject: GrantSubject, id: string) {
  return sendAndRefetch('DELETE', `/team-${subject.kind}s/${id}`, ...keys(subject))
}
