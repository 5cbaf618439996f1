import type * as contract from '@groundstate/contract/admin'
import { avatarPath } from '../../identity/users/resource.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/quotas.ts'
import type { FeatureSet } from './organizations.ts'
import type { AdminUserRow, SiteMembershipRow, SiteOrganizationRow } from './store.ts'

/** A user for site administrators, with the e-mail address. */
export function adminUserResource(row: AdminUserRow, baseUrl: string): contract.AdminUserResource {
  const hasTwoFactor = row.two_factor_at !== null
  return {
    id: row.id,
    type: 'users',
    attributes: {
      username: row.username,
      email: row.email,
      'unconfirmed-email': row.unconfirmed_email,
      'avatar-url': `${baseUrl}${avatarPath(row)}`,
      'auth-method': row.auth_method,
      'is-admin': row.is_site_admin,
      'is-suspended': row.suspended_at !== null,
      'is-service-account': row.is_service_account,
      'two-factor': { enabled: hasTwoFactor, verified: hasTwoFactor },
      'created-at': row.created_at,
      'last-active-at': row.last_active_at,
    },
    relationships: {
      'authentication-tokens': { links: { related: `/api/v2/users/${row.id}/authentication-tokens` } },
    },
    links: { self: `/api/v2/admin/users/${row.id}` },
  }
}

export function adminMembershipResource(row: SiteMembershipRow): contract.AdminMembershipResource {
  return {
    id: row.id,
    type: 'organization-memberships',
    attributes: {
      'organization-name': row.organization_name,
      status: row.status,
      teams: row.teams,
      'is-last-owner': row.is_last_owner,
      'created-at': row.created_at,
    },
  }
}

/** An organization for site administrators, without its contents. */
export function adminOrganizationResource(row: SiteOrganizationRow): contract.AdminOrganizationResource {
  return {
    id: row.name,
    type: 'organizations',
    attributes: {
      name: row.name,
      'external-id': row.id,
      'notification-email': row.email,
      plan: row.plan,
      'run-concurrency': row.run_concurrency,
      'is-disabled': false,
      'sso-enabled': false,
      'created-at': row.created_at,
    },
    links: { self: `/api/v2/admin/organizations/${row.name}` },
  }
}

export function featureSetResource(set: FeatureSet): contract.FeatureSetResource {
  const { runTasks, runTaskWorkspaces, agents } = PLAN_LIMITS[set.plan]
  return {
    id: set.id,
    type: 'feature-sets',
    attributes: {
      name: set.name,
      identifier: set.plan,
      'is-free-tier': set.plan === 'free',
      'is-current': true,
      'run-task-limit': runTasks,
      'run-task-workspace-limit': runTaskWorkspaces,
      'agents-ceiling': agents,
    },
  }
}

export function subscriptionResource(row: SiteOrganizationRow, set: FeatureSet): contract.SubscriptionResource {
  return {
    id: `sub-${row.id.replace(/^org-/, '')}`,
    type: 'subscriptions',
    attributes: { 'is-active': true, 'is-self-serve-trial': false, 'end-at': null },
    relationships: {
      organization: { data: { id: row.name, type: 'organizations' } },
      'feature-set': { data: { id: set.id, type: 'feature-sets' } },
    },
  }
}
