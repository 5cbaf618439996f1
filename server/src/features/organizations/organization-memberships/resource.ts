import type { MembershipResource } from '@groundstate/contract/memberships'
import type { InvitedUserResource } from '@groundstate/contract/users'
import type { Membership, ShownMembership } from './access.ts'

type Teams = MembershipResource['relationships']['teams']['data']

export function membershipResource(membership: ShownMembership, teams: Teams): MembershipResource {
  return {
    id: membership.id,
    type: 'organization-memberships',
    attributes: {
      status: membership.status,
      email: membership.hidesEmail ? null : membership.email,
      'created-at': membership.created_at,
      'is-org-two-factor-required': membership.collaborator_auth_policy === 'two_factor_mandatory',
    },
    relationships: {
      organization: { data: { id: membership.organization_name, type: 'organizations' } },
      user: { data: { id: memberId(membership), type: 'users' } },
      teams: { data: teams },
    },
    links: { self: `/api/v2/organization-memberships/${membership.id}` },
  }
}

/** Clients expect a user behind every membership, so an invitation has an id that no user has yet. */
function memberId({ user_id, placeholder_id }: Membership) {
  return user_id ?? placeholder_id ?? ''
}

/** Placeholder for the account of an invited user, with the id that the membership names. */
export function invitedUserResource(id: string): InvitedUserResource {
  return {
    id,
    type: 'users',
    attributes: {
      username: null,
      'is-service-account': false,
      'auth-method': 'password',
      'avatar-url': null,
      'v2-only': false,
      permissions: { 'can-create-organizations': false, 'can-change-email': false, 'can-change-username': false },
    },
  }
}
