import type { EntitlementSetResource } from '@groundstate/contract/entitlement-sets'
import type { OrganizationResource } from '@groundstate/contract/organizations'
import type { Organization } from './access.ts'
import { entitlements } from './quotas.ts'
import type { PolicyColumn } from './store.ts'

/** The limit of the public API. Without a registry, none is used. */
const TESTABLE_MODULES = 5

export function organizationResource(organization: Organization): OrganizationResource {
  const { can, name, default_project_id: project, default_agent_pool_id: pool } = organization
  const self = `/api/v2/organizations/${name}`
  return {
    id: name,
    type: 'organizations',
    attributes: {
      name,
      'external-id': organization.id,
      email: can.has('members:read') ? organization.email : null,
      'created-at': organization.created_at,
      'session-timeout': organization.session_timeout,
      'session-remember': organization.session_remember,
      'collaborator-auth-policy': organization.collaborator_auth_policy,
      'two-factor-conformant': organization.access.signInRequirement !== 'two-factor',
      'plan-expired': false,
      'plan-expires-at': null,
      'plan-is-trial': false,
      'plan-is-enterprise': organization.plan === 'unlimited',
      'plan-identifier': organization.plan,
      'cost-estimation-enabled': organization.cost_estimation_enabled,
      'assessments-enforced': false,
      'allow-force-delete-workspaces': organization.allow_force_delete_workspaces,
      'send-passing-statuses-for-untriggered-speculative-plans': organization.send_passing_statuses,
      'aggregated-commit-status-enabled': organization.aggregated_commit_status_enabled,
      'speculative-plan-management-enabled': organization.speculative_plan_management_enabled,
      'fair-run-queuing-enabled': true,
      'saml-enabled': false,
      'owners-team-saml-role-id': organization.owners_team_saml_role_id,
      'default-execution-mode': organization.default_execution_mode,
      'is-unified': false,
      'is-in-degraded-mode': false,
      'remaining-testable-count': TESTABLE_MODULES,
      'user-tokens-enabled': organization.user_tokens_enabled,
      'max-ttl-enabled': false,
      'enforce-hyok': false,
      'stacks-enabled': false,
      'global-module-sharing': false,
      'global-provider-sharing': false,
      permissions: permissionsBlock(organization),
    },
    relationships: {
      'default-project': { data: project ? { id: project, type: 'projects' } : null },
      'default-agent-pool': { data: pool ? { id: pool, type: 'agent-pools' } : null },
      'entitlement-set': {
        data: { id: organization.id, type: 'entitlement-sets' },
        links: { related: `${self}/entitlement-set` },
      },
      subscription: { data: null },
      'data-retention-policy': policyIdentifier(organization.retention_policy),
      'authentication-token': { links: { related: `${self}/authentication-token` } },
      'audit-trails-authentication-token': { links: { related: `${self}/authentication-token?token=audit-trails` } },
      'oauth-tokens': { links: { related: `${self}/oauth-tokens` } },
    },
    links: { self, 'self-html': `/app/${name}` },
  }
}

type Subscribed = Pick<Organization, 'id' | 'name' | 'plan'>

export function entitlementSetResource({ id, name, plan }: Subscribed): EntitlementSetResource {
  const links = { self: `/api/v2/organizations/${name}/entitlement-set` }
  return { id, type: 'entitlement-sets', attributes: entitlements(plan), links }
}

function permissionsBlock({ can }: Organization) {
  const update = can.has('organization:update')
  return {
    'can-update': update,
    'can-update-authentication-token': can.has('tokens:manage'),
    'can-update-api-token': can.has('tokens:manage'),
    'can-view-authentication': can.has('tokens:manage'),
    'can-destroy': can.has('organization:delete'),
    'can-access-via-teams': true,
    'can-traverse': true,
    'can-view-usage': can.has('owner'),
    'can-create-team': can.has('teams:manage'),
    'can-create-workspace': can.has('workspaces:create'),
    'can-create-workspace-migration': can.has('workspaces:create'),
    'can-create-project': can.has('projects:create'),
    'can-manage-users': can.has('members:manage'),
    'can-view-users': can.has('members:read'),
    'can-manage-subscription': can.has('owner'),
    'can-manage-sso': can.has('owner'),
    'can-manage-auditing': can.has('audit-trail:read'),
    'can-manage-run-tasks': can.has('run-tasks:manage'),
    'can-read-run-tasks': can.has('run-tasks:read'),
    'can-update-agent-pools': can.has('agent-pools:manage'),
    'can-manage-tags': can.has('tags:manage'),
    'can-manage-varsets': can.has('variable-sets:manage'),
    'can-read-varsets': can.has('variable-sets:read'),
    'can-manage-assessments': false,
    'can-read-assessments': false,
    'can-create-module': can.has('modules:manage'),
    'can-create-provider': can.has('providers:manage'),
    'can-deploy-no-code-modules': false,
    'can-enable-stacks': false,
    'can-manage-custom-providers': can.has('providers:manage'),
    'can-manage-no-code-modules': false,
    'can-manage-public-modules': can.has('modules:manage'),
    'can-manage-public-providers': can.has('providers:manage'),
    'can-update-hyok-configuration': false,
    'can-update-oauth': can.has('vcs-settings:manage'),
    'can-update-sentinel': can.has('policies:manage'),
    'can-update-ssh-keys': can.has('vcs-settings:manage'),
    'can-view-explorer': false,
    'can-view-hyok-feature-info': false,
  }
}

/** The retention policy of a resource. The type tells clients which of the two resources to read. */
export function policyIdentifier(policy: PolicyColumn) {
  const type = (policy?.days ?? null) === null ? 'dont-deletes' : 'delete-olders'
  return { data: policy && { id: policy.id, type: `data-retention-policy-${type}` as const } }
}
