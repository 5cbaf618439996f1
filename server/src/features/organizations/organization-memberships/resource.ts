import type { InvitationResource } from '@groundstate/contract/invitations'
import type { MembershipResource } from '@groundstate/contract/memberships'
import type { InvitedUserResource } from '@groundstate/contract/users'
import type { ShownMembership } from './access.ts'

export function membershipResource(membership: ShownMembership, teamIds: readonly string[]): MembershipResource {
  return {
    id: membership.id,
    type: 'organization-memberships',
    attributes: {
      status: membership.status,
      email: membership.hidesEmail ? null : membership.email,
      'created-at': membership.created_at,
      'is-org-two-factor-required': membership.collaborator_auth_policy === 'two_factor_mandatory',
      'has-two-factor':
        membership.hidesEmail || membership.auth_method !== 'password' ? null : membership.two_factor_at !== null,
      'invitation-expires-at': membership.invitation_expires_at,
    },
    relationships: {
      organization: { data: { id: membership.organization_name, type: 'organizations' } },
      // Clients expect a user of every membership, so an invitation has an id that no user has yet.
      user: { data: { id: membership.user_id ?? membership.placeholder_id ?? '', type: 'users' } },
      teams: { data: teamIds.map((id) => ({ id, type: 'teams' })) },
    },
    links: { self: `/api/v2/organization-memberships/${membership.id}` },
  }
}

export type InvitationLink = { membershipId: string; email: string; url: string; expiresAt: Date; isMailed: boolean }

export function invitationResource(link: InvitationLink): InvitationResource {
  return {
    id: link.membershipId,
    type: 'invitations',
    attributes: { email: link.email, url: link.url, 'expires-at': link.expiresAt, 'is-mailed': link.isMailed },
  }
}

/** Placeholder for the account of an invited user; `id` and `email` are those of the membership. */
export function invitedUserResource(id: string, email: string | null): InvitedUserResource {
  return {
    id,
    type: 'users',
    attributes: {
      username: null,
      'is-service-account': false,
      'auth-method': 'password',
      'avatar-url': null,
      'v2-only': false,
      email,
      permissions: { 'can-create-organizations': false, 'can-change-email': false, 'can-change-username': false },
    },
  }
}
