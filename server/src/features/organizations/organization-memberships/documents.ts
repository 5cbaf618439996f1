import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { listReadableTeams } from '../teams/access.ts'
import { includedUsers } from '../../identity/users/includes.ts'
import { invitedUserResource, membershipResource } from './resource.ts'
import { listReadableMemberships } from './access.ts'
import type { Membership } from './membership.ts'
import { organizationResource } from '../organizations/resource.ts'
import { listVisibleTeams } from '../teams/list-of-memberships.ts'
import { teamDocuments } from '../teams/documents.ts'
import { listReadableOrganizations } from '../organizations/access.ts'

export const MEMBERSHIP_INCLUDES = ['user', 'teams'] as const
export const OWN_MEMBERSHIP_INCLUDES = ['user', 'teams', 'organization'] as const

type Shown = Membership & { hidesEmail?: boolean }

/** Presents memberships with what `includes` names; the number of queries does not depend on how many they are. */
export async function membershipDocuments(ctx: Ctx, memberships: readonly Shown[], includes: ReadonlySet<string>) {
  const facts = new Map(memberships.map((membership) => [membership.organization_id, membership.facts]))
  const teams = await listVisibleTeams(ctx, memberships, (id) => facts.get(id))
  const resources = memberships.map((membership) =>
    membershipResource(
      membership,
      (teams.get(membership.id) ?? []).map((id) => ({ id, type: 'teams' })),
    ),
  )
  if (includes.size === 0) return { resources }
  const included: Resource[] = []
  if (includes.has('user')) {
    const accounts = await includedUsers(
      ctx,
      memberships.map((membership) => membership.user_id),
    )
    const invited = memberships.filter((membership) => membership.user_id === null)
    included.push(...accounts, ...invited.map(invitedUserResource))
  }
  if (includes.has('teams')) {
    const readable = await listReadableTeams(ctx, [...new Set([...teams.values()].flat())])
    included.push(...(await teamDocuments(ctx, readable, new Set())).resources)
  }
  if (includes.has('organization')) {
    included.push(...(await listReadableOrganizations(ctx, [...facts.keys()])).map(organizationResource))
  }
  return { resources, included }
}

/** As `membershipDocuments`, for one. */
export async function membershipDocument(ctx: Ctx, membership: Shown, includes: ReadonlySet<string>) {
  const { resources, included } = await membershipDocuments(ctx, [membership], includes)
  const [resource] = resources
  if (!resource) throw new Error('every membership has a resource')
  return { resource, included }
}

/** Those of the memberships that the actor may see, as included resources. */
export async function includedMemberships(ctx: Ctx, ids: readonly string[]) {
  const memberships = await listReadableMemberships(ctx, ids)
  return (await membershipDocuments(ctx, memberships, new Set())).resources
}
