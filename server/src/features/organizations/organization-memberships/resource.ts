import type { MembershipResource } from '@groundstate/contract/memberships'
import type { InvitedUserResource } from '@groundstate/contract/users'
import type { Membership } from './membership.ts'

type Shown = Membership & { hidesEmail?: boolean }
type Teams = MembershipResource['relationships']['teams']['data']

export function membershipResource(membership: Shown, teams: Teams): MembershipResource {
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

/** Clients expect a user behind every membership: an invited person has the id of nobody yet. */
function memberId({ user_id, placeholder_id }: Membership) {
  return user_id ?? placeholder_id ?? ''
}

/** What stands in for the account of an invited person. */
export function invitedUserResource(membership: Shown): InvitedUserResource {
  return {
    id: memberId(membership),
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
