import { z } from 'zod'
import { twoFactorState, unconfirmedEmail } from './account.ts'
import { type Written, hasOne, linkedResource, nullable, resource, timestamp } from './responses.ts'
import { organizationPlan, userAttributes, userTokensRelation } from './users.ts'

const { 'v2-only': _, ...shownAttributes } = userAttributes

export const adminUserSchema = linkedResource('users', {
  name: 'AdminUser',
  attributes: {
    ...shownAttributes,
    email: nullable.string,
    'unconfirmed-email': unconfirmedEmail,
    'is-admin': z.boolean().describe('whether the user administers this server'),
    'is-suspended': z.boolean(),
    'two-factor': twoFactorState,
    'created-at': timestamp,
    'last-active-at': nullable.time.describe('our own: when a session or an API token of the user was last used'),
  },
  relationships: userTokensRelation,
})
export type AdminUserResource = Written<typeof adminUserSchema>

/** A membership of a user, for site administrators. */
export const adminMembershipSchema = resource('organization-memberships', {
  name: 'AdminMembership',
  attributes: {
    'organization-name': z.string(),
    status: z.enum(['active', 'invited']),
    teams: z.array(z.strictObject({ id: z.string(), name: z.string() })),
    'is-last-owner': z.boolean().describe('whether the organization has no other active owner'),
    'created-at': timestamp,
  },
})
export type AdminMembershipResource = Written<typeof adminMembershipSchema>

export const adminOrganizationSchema = linkedResource('organizations', {
  name: 'AdminOrganization',
  attributes: {
    name: z.string(),
    'external-id': z.string(),
    'notification-email': z.string(),
    plan: organizationPlan.describe('our own: what the organization is entitled to'),
    'run-concurrency': nullable.int.describe(
      "our own: maximum number of the organization's jobs that run concurrently; null for no limit",
    ),
    'is-disabled': z.boolean().describe('always false'),
    'sso-enabled': z.boolean().describe('always false: single sign-on is configured for the whole server'),
    'created-at': timestamp,
  },
})
export type AdminOrganizationResource = Written<typeof adminOrganizationSchema>

export const featureSetSchema = resource('feature-sets', {
  attributes: {
    name: z.string(),
    identifier: organizationPlan.describe('the plan that an organization has once it subscribes'),
    'is-free-tier': z.boolean(),
    'is-current': z.boolean().describe('always true: every one of them can be subscribed to'),
    'run-task-limit': nullable.int.describe('maximum number of run tasks; null for no limit'),
    'run-task-workspace-limit': nullable.int.describe('maximum number of workspaces with run tasks; null for no limit'),
    'agents-ceiling': nullable.int.describe('maximum number of self-hosted agents online; null for no limit'),
  },
})
export type FeatureSetResource = Written<typeof featureSetSchema>

export const subscriptionSchema = resource('subscriptions', {
  attributes: {
    'is-active': z.boolean().describe('always true'),
    'is-self-serve-trial': z.boolean().describe('always false'),
    'end-at': z.null().describe('a subscription does not end'),
  },
  relationships: { organization: hasOne('organizations'), 'feature-set': hasOne('feature-sets') },
})
export type SubscriptionResource = Written<typeof subscriptionSchema>
