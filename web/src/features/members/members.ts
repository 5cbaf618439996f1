import type { invitationSchema } from '@groundstate/contract/invitations'
import type { membershipPage, membershipSchema } from '@groundstate/contract/memberships'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { teamSchema } from '@groundstate/contract/teams'
import type { invitedUserSchema, memberUserSchema } from '@groundstate/contract/users'
import { useQuery } from '@tanstack/react-query'
import { errorOf, get, queryString, request } from '../../api/client.ts'
import { includedOf, invalidate, keepWithin, sendAndRefetch } from '../../api/queries.ts'
import { fieldError } from '../../components/form.tsx'
import { isOwners } from '../teams/teams.ts'

type Team = Wire<typeof teamSchema>
type Included = typeof teamSchema | typeof memberUserSchema | typeof invitedUserSchema
export type Invitation = Wire<typeof invitationSchema>['attributes']

/** A membership with its user and the visible teams. */
export type Member = {
  id: string
  /** Undefined for an invited person. */
  username: string | undefined
  /** The username, or the address of an invited person. */
  name: string
  userId: string | undefined
  attributes: Wire<typeof membershipSchema>['attributes']
  teams: readonly Team[]
}

/** Filters of the list in the URL; `team` is an id. */
export type MemberSearch = {
  q?: string | undefined
  status?: string | undefined
  team?: string | undefined
  page?: number | undefined
}

function membersOf(document: { included?: Wire<Included>[] }, data: readonly Wire<typeof membershipSchema>[]) {
  const included = includedOf(document)
  return data.map(({ id, attributes, relationships }): Member => {
    const username = included.one('users', relationships.user)?.attributes.username ?? undefined
    const teams = included.many('teams', relationships.teams)
    const name = username ?? attributes.email ?? 'invited person'
    return { id, username, name, userId: relationships.user.data?.id, attributes, teams }
  })
}

type MembersPage = PageOnWire<typeof membershipSchema, Included> & {
  meta: { 'status-counts'?: Wire<typeof membershipPage>['meta']['status-counts'] }
}

/** The members and invited persons of an organization. */
export function useMembers(organization: string, { q, status, team, page = 1 }: MemberSearch) {
  return useMemberships(organization, `/organizations/${organization}/organization-memberships`, {
    q,
    'filter[status]': status,
    'filter[team][id]': team,
    'page[number]': page,
  })
}

/** The members of a team, also for those who may not see the other members of the organization. */
export function useTeamMembers(organization: string, teamId: string, { q, page = 1 }: MemberSearch) {
  return useMemberships(organization, `/teams/${teamId}/relationships/organization-memberships`, {
    q,
    'page[number]': page,
  })
}

function useMemberships(organization: string, path: string, params: Record<string, string | number | undefined>) {
  const query = queryString({ ...params, include: 'user,teams', 'page[size]': 50 })
  return useQuery({
    queryKey: ['organization-memberships', organization, path, params],
    meta: { dependsOn: ['teams'] },
    queryFn: async ({ signal }) => {
      const document = await get<MembersPage>(`${path}${query}`, signal)
      return { data: membersOf(document, document.data), meta: document.meta }
    },
    placeholderData: keepWithin(organization),
  })
}

export function useMember(organization: string, id: string) {
  return useQuery({
    queryKey: ['organization-memberships', organization, id],
    meta: { dependsOn: ['teams'] },
    queryFn: async ({ signal }) => {
      const path = `/organization-memberships/${id}?include=user,teams`
      const document = await get<DocumentOnWire<typeof membershipSchema, Included>>(path, signal)
      const [member] = membersOf(document, [document.data])
      if (!member) throw new Error('a document has one membership')
      return member
    },
  })
}

/** Members for a picker. */
export async function findMembers(organization: string, q: string, signal: AbortSignal) {
  const query = queryString({ q, include: 'user', 'page[size]': 30 })
  const document = await get<MembersPage>(`/organizations/${organization}/organization-memberships${query}`, signal)
  return membersOf(document, document.data)
}

/** Queries to invalidate: membership also decides what the user may do. */
const KEYS = (organization: string) => [
  ['organization-memberships', organization],
  ['teams', organization],
  ['organizations', organization],
]

/** The result of an invitation: a link, unless an account has the address, which is a member then. `known`: it was one, or invited, before. */
export type Invited = { email: string; link?: Invitation; isMember?: true; known?: Member; error?: Error }

/** Invites one address after the other. An address that fails does not prevent others. */
export async function inviteAll(organization: string, emails: readonly string[], teamIds: readonly string[]) {
  const results: Invited[] = []
  for (const email of emails) results.push(await invite(organization, email, teamIds))
  await invalidate(...KEYS(organization))
  return results
}

/** The message of the public API for an address that is a member's, or invited. */
const TAKEN = 'Email has already been taken'

async function invite(organization: string, email: string, teamIds: readonly string[]): Promise<Invited> {
  const type = 'organization-memberships'
  const relationships = { teams: { data: teamIds.map((id) => ({ type: 'teams', id })) } }
  try {
    const { included } = await request<DocumentOnWire<typeof membershipSchema, typeof invitationSchema>>(
      'POST',
      `/organizations/${organization}/${type}`,
      { data: { type, attributes: { email }, relationships } },
    )
    const link = included?.find((resource) => resource.type === 'invitations')?.attributes
    return link ? { email, link } : { email, isMember: true }
  } catch (error) {
    const known = fieldError(error as Error, 'email') === TAKEN ? await findByAddress(organization, email) : undefined
    return known ? { email, known } : { email, error: errorOf(error) }
  }
}

async function findByAddress(organization: string, email: string) {
  const query = queryString({ 'filter[email]': email, include: 'user,teams' })
  try {
    const document = await get<MembersPage>(`/organizations/${organization}/organization-memberships${query}`)
    return membersOf(document, document.data)[0]
  } catch {
    // The response to the invitation is shown instead.
    return undefined
  }
}

/** Creates new links of an invitation. */
export async function resendInvitation(organization: string, { id }: Pick<Member, 'id'>) {
  const path = `/organization-memberships/${id}/actions/resend-invitation`
  const { data } = await request<DocumentOnWire<typeof invitationSchema>>('POST', path)
  await invalidate(['organization-memberships', organization])
  return data.attributes
}

export async function removeMember(organization: string, { id }: Pick<Member, 'id'>) {
  await sendAndRefetch('DELETE', `/organization-memberships/${id}`, ...KEYS(organization))
}

/** Adds a member or invited person to a team, or removes them from it. */
export async function changeTeam(
  method: 'POST' | 'DELETE',
  { organization, teamId, membershipId }: { organization: string; teamId: string; membershipId: string },
) {
  const path = `/teams/${teamId}/relationships/organization-memberships`
  await request(method, path, { data: [{ type: 'organization-memberships', id: membershipId }] })
  await invalidate(...KEYS(organization), ['teams', teamId], ['workspaces'], ['projects'])
}

export function isOwner({ teams }: Pick<Member, 'teams'>) {
  return teams.some(isOwners)
}

/** The reasons why the removal would be rejected, as far as the page knows them. */
export function removalReason(member: Member, isYou: boolean) {
  return isYou && isOwner(member) ? 'you are an owner: leave the owners team first' : undefined
}
