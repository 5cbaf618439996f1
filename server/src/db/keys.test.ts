import { expect, test } from 'vitest'
import { createTestDatabase, execute } from '../testing/database.ts'

/** Reasons why an `_id` column has no foreign key. A new one gets a key, or a line here. */
const WITHOUT_KEY = {
  'may precede the key that it names': ['registry_provider_versions.key_id'],
  'refers to nothing in this database': [
    'github_app_installations.installation_id',
    'installation.blob_store_id',
    'installation.next_secret_id',
    'installation.secret_id',
    'oauth_clients.ado_entra_tenant_id',
    'oauth_codes.client_id',
    'organizations.owners_team_saml_role_id',
    'pull_request_comments.comment_id',
    'repositories.webhook_id',
    'sign_in_settings.client_id',
    'task_outcomes.outcome_id',
    'teams.sso_team_id',
    'vcs_authorizations.installation_id',
  ],
  'identifies the row itself': [
    'gpg_keys.key_id',
    'identity_keys.key_id',
    'organization_memberships.placeholder_id',
    'tag_bindings.tag_id',
    'variables.version_id',
  ],
  'is the public id of a row with another key': ['vcs_authorizations.session_id'],
  'refers to several tables': [
    'notifications.receiver_id',
    'notifications.recipient_id',
    'state_versions.lock_holder_id',
    'workspaces.locked_by_id',
  ],
  'is history that outlives the referenced row': [
    'agent_jobs.agent_pool_id',
    'agent_jobs.preferred_agent_id',
    'agents.token_id',
    'audit_days.organization_id',
    'audit_events.actor_id',
    'audit_events.organization_id',
    'audit_events.request_id',
    'audit_events.resource_id',
    'audit_events.token_id',
    'former_sensitive_values.variable_set_id',
    'former_variable_sets.variable_set_id',
    'notifications.run_id',
    'notifications.workspace_id',
    'phases.job_id',
    'runs.agent_pool_id',
    'runs.base_state_version_id',
    'runs.triggering_run_id',
    'runs.triggering_workspace_id',
    'task_deliveries.task_id',
    'task_results.agent_pool_id',
    'task_results.task_id',
    'task_results.workspace_task_id',
    'trigger_firings.after_state_version_id',
    'trigger_firings.before_state_version_id',
    'trigger_firings.workspace_id',
  ],
  'duplicates a column of its parent row: a key would lock another row in each run': [
    'agent_jobs.organization_id',
    'agent_jobs.workspace_id',
    'run_keys.organization_id',
    'run_keys.workspace_id',
    'runs.organization_id',
    'tokens.workspace_id',
  ],
}

test('each column whose name ends in _id has a foreign key or a listed exception', async () => {
  await using database = await createTestDatabase()

  const { rows } = await execute(
    database.url,
    `select c.relname || '.' || a.attname as name
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attname like '%\\_id' and not exists (
        select from pg_constraint k where k.contype = 'f' and k.conrelid = c.oid and a.attnum = any(k.conkey))
      order by 1`,
  )

  expect(rows.map(({ name }) => name)).toEqual(Object.values(WITHOUT_KEY).flat().toSorted())
})
