import { z } from 'zod'
import { rejectedAttribute, requestBody, toOneOrNone, unsupportedFlag } from './json-api.ts'
import { type Written, hasOne, linksToMany, linksToOne, resource, timestamp, unsupported } from './responses.ts'
import { organizationPlan } from './users.ts'

export const executionMode = z.enum(['remote', 'local', 'agent'])

/** Names appear in URLs and configuration files, so they have no characters that need escaping. */
export const resourceName = (noun: string, max = 90) =>
  z
    .string()
    .min(1, `${noun} can't be blank`)
    .max(max, { error: `${noun} is too long (maximum is ${max} characters)`, abort: true })
    // A refinement, since its message is sent unchanged and clients match on it.
    .refine((text) => /^[A-Za-z0-9_-]*$/.test(text), {
      error: ({ input }) =>
        `${noun} may only contain letters, numbers, underscores and hyphens: it is ${JSON.stringify(input)}`,
    })

export const AUTH_POLICIES = ['password', 'two_factor_mandatory'] as const

/** The largest value that the database can store. */
const minutes = z.int().min(1).max(2_147_483_647)

function setByAdmins(name: string) {
  return rejectedAttribute(`${name} is set by site administrators, with PATCH /admin/organizations/:name`)
}

const attributes = z.object({
  name: resourceName('Name'),
  email: z.email().max(254),
  'collaborator-auth-policy': z.enum(AUTH_POLICIES).optional(),
  'session-timeout': minutes.nullish(),
  'session-remember': minutes.nullish(),
  'cost-estimation-enabled': z.boolean().optional(),
  'assessments-enforced': unsupportedFlag('assessments-enforced', 'health assessments are'),
  'enforce-hyok': unsupportedFlag('enforce-hyok', 'customer-held keys are'),
  'max-ttl-enabled': unsupportedFlag('max-ttl-enabled', 'a maximum lifetime of tokens is'),
  'allow-force-delete-workspaces': z.boolean().optional(),
  'send-passing-statuses-for-untriggered-speculative-plans': z.boolean().optional(),
  'aggregated-commit-status-enabled': z.boolean().optional(),
  'speculative-plan-management-enabled': z.boolean().optional(),
  'owners-team-saml-role-id': z.string().max(1000).nullish(),
  'user-tokens-enabled': z.boolean().optional(),
  'default-execution-mode': executionMode.optional(),
  plan: setByAdmins('plan'),
  'run-concurrency': setByAdmins('run-concurrency'),
})

const relationships = z.object({ 'default-agent-pool': toOneOrNone('agent-pools').optional() })

export const createOrganizationBody = requestBody(
  'organizations',
  attributes,
  z.object({
    'default-agent-pool': rejectedAttribute(
      'default-agent-pool cannot be set when an organization is created: it has no agent pool yet',
    ),
  }),
)
export type CreateOrganization = z.infer<typeof attributes>

export const updateOrganizationBody = requestBody('organizations', attributes.partial(), relationships)
export type UpdateOrganization = z.infer<typeof updateOrganizationBody>['data']

const stored = z.boolean().describe('stored, without effect on this server')

const permissions = z.strictObject({
  'can-update': z.boolean(),
  'can-update-authentication-token': z.boolean(),
  'can-update-api-token': z.boolean(),
  'can-view-authentication': z.boolean(),
  'can-destroy': z.boolean(),
  'can-access-via-teams': z.boolean(),
  'can-traverse': z.boolean(),
  'can-view-usage': z.boolean(),
  'can-create-team': z.boolean(),
  'can-create-workspace': z.boolean(),
  'can-create-workspace-migration': z.boolean(),
  'can-create-project': z.boolean(),
  'can-manage-users': z.boolean(),
  'can-view-users': z.boolean(),
  'can-manage-subscription': z.boolean(),
  'can-manage-sso': z.boolean(),
  'can-manage-auditing': z.boolean(),
  'can-manage-run-tasks': z.boolean(),
  'can-read-run-tasks': z.boolean(),
  'can-update-agent-pools': z.boolean(),
  'can-manage-tags': z.boolean(),
  'can-manage-varsets': z.boolean(),
  'can-read-varsets': z.boolean(),
  'can-manage-assessments': unsupported,
  'can-read-assessments': unsupported,
  'can-create-module': z.boolean(),
  'can-create-provider': z.boolean(),
  'can-deploy-no-code-modules': unsupported,
  'can-enable-stacks': unsupported,
  'can-manage-custom-providers': z.boolean(),
  'can-manage-no-code-modules': unsupported,
  'can-manage-public-modules': z.boolean(),
  'can-manage-public-providers': z.boolean(),
  'can-update-hyok-configuration': unsupported,
  'can-update-oauth': z.boolean(),
  'can-update-sentinel': z.boolean().describe('whether the caller may manage policies and policy sets'),
  'can-update-ssh-keys': z.boolean(),
  'can-view-explorer': unsupported,
  'can-view-hyok-feature-info': unsupported,
})

export const organizationSchema = resource('organizations', {
  attributes: {
    name: z.string(),
    'external-id': z.string().describe('an id that does not change with the name'),
    email: z.string().nullable().describe('null when the caller may not see the members'),
    'created-at': timestamp,
    'session-timeout': z.int().nullable().describe('minutes of inactivity after which members must sign in again'),
    'session-remember': z.int().nullable().describe('minutes after which members must sign in again'),
    'collaborator-auth-policy': z.enum(AUTH_POLICIES),
    'two-factor-conformant': z
      .boolean()
      .describe('false when the caller lacks two-factor authentication that is required'),
    'plan-expired': z.boolean().describe('always false'),
    'plan-expires-at': z.null().describe('a plan does not expire'),
    'plan-is-trial': z.boolean().describe('always false'),
    'plan-is-enterprise': z.boolean(),
    'plan-identifier': organizationPlan,
    'cost-estimation-enabled': stored,
    'assessments-enforced': unsupported,
    'allow-force-delete-workspaces': z.boolean(),
    'send-passing-statuses-for-untriggered-speculative-plans': z
      .boolean()
      .describe('whether workspaces that a pull request skips pass when statuses are not aggregated'),
    'aggregated-commit-status-enabled': z
      .boolean()
      .describe('here, each workspace has its own status; true: workspaces that a pull request skips pass, too'),
    'speculative-plan-management-enabled': z
      .boolean()
      .describe('whether plans of outdated commits of pull requests are canceled'),
    'fair-run-queuing-enabled': z.boolean().describe('always true'),
    'saml-enabled': z.boolean().describe('always false: single sign-on is configured for the whole server'),
    'owners-team-saml-role-id': z.string().nullable(),
    'default-execution-mode': executionMode,
    'is-unified': unsupported,
    'is-in-degraded-mode': z.boolean().describe('always false'),
    'remaining-testable-count': z
      .int()
      .describe('always 5, the limit of the public API: tests of modules are not supported'),
    'user-tokens-enabled': z
      .boolean()
      .describe("whether members' API tokens are accepted; team and organization tokens always are"),
    'max-ttl-enabled': unsupported,
    'enforce-hyok': unsupported,
    'stacks-enabled': unsupported,
    'global-module-sharing': unsupported,
    'global-provider-sharing': unsupported,
    permissions,
  },
  relationships: {
    'default-project': hasOne('projects'),
    'default-agent-pool': hasOne('agent-pools'),
    'entitlement-set': hasOne('entitlement-sets'),
    subscription: hasOne('subscriptions'),
    'data-retention-policy': hasOne('data-retention-policy-dont-deletes', 'data-retention-policy-delete-olders'),
    'authentication-token': linksToOne('authentication-tokens'),
    'audit-trails-authentication-token': linksToOne('authentication-tokens'),
    'oauth-tokens': linksToMany('oauth-tokens'),
  },
  links: { self: z.string(), 'self-html': z.string().describe('the path of its page in the web application') },
})
export type OrganizationResource = Written<typeof organizationSchema>
