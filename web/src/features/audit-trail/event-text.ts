import type { auditTrailResponse } from '@groundstate/contract/audit-trail'
import type { Wire } from '@groundstate/contract/responses'
import { capitalized } from '../../components/numbers.ts'

export type AuditTrail = Wire<typeof auditTrailResponse>
export type AuditEvent = AuditTrail['data'][number]

/** Types of resources and what the page calls them; the last five have events of the server only. */
export const RESOURCE_TYPES = {
  workspace: 'Workspace',
  run: 'Run',
  state_version: 'State version',
  state_version_output: 'Output',
  configuration_version: 'Configuration',
  variable: 'Variable',
  variable_set: 'Variable set',
  project: 'Project',
  team: 'Team',
  organization_user: 'Member',
  organization: 'Organization',
  task: 'Run task',
  workspace_task: 'Attached run task',
  task_result: 'Task result',
  policy: 'Policy',
  policy_set: 'Policy set',
  policy_set_version: 'Policy set version',
  policy_set_parameter: 'Policy set parameter',
  policy_trial: 'Policy trial',
  opa_version: 'OPA version',
  registry_module: 'Module',
  registry_module_version: 'Module version',
  run_trigger: 'Run trigger',
  notification_configuration: 'Notification',
  notification: 'Sent notification',
  comment: 'Comment',
  oauth_client: 'Connection',
  oauth_token: 'Token of a connection',
  github_app_installation: 'GitHub App installation',
  vcs_repository: 'Repository',
  vcs_delivery: 'Delivery',
  ssh_key: 'SSH key',
  agent_pool: 'Agent pool',
  agent: 'Agent',
  authentication_token: 'Token',
  data_retention_policy: 'Retention policy',
  reserved_tag_key: 'Reserved tag key',
  sample: 'Sample project',
  notification_settings: 'Notification settings',
  user: 'User',
  job: 'Background job',
  sign_in_settings: 'Sign-in settings',
  identity_key: 'Identity key',
} as const satisfies Record<string, string>

/** Texts of the recorded actions. The part in brackets follows in the text of an event, with the type of its resource for `%`. */
const ACTION_TEXTS: Readonly<Record<string, string>> = {
  create: 'Create [%]',
  update: 'Update [%]',
  destroy: 'Delete [%]',
  add_tags: 'Add tags [to %]',
  remove_tags: 'Remove tags [from %]',
  replace_tags: 'Replace tags [of %]',
  add_team: 'Add team [to %]',
  update_team_permissions: 'Update team permissions [for %]',
  remove_team: 'Remove team [from %]',
  lock: 'Lock [%]',
  unlock: 'Unlock [%]',
  force_unlock: 'Force-unlock [%]',
  add_remote_state_consumers: 'Share state [of %]',
  remove_remote_state_consumers: 'Stop sharing state [of %]',
  replace_remote_state_consumers: 'Change state sharing [of %]',
  add_workspaces: 'Add workspaces [to %]',
  remove_workspaces: 'Remove workspaces [from %]',
  add_projects: 'Add projects [to %]',
  remove_projects: 'Remove projects [from %]',
  add_policies: 'Add policies [to %]',
  remove_policies: 'Remove policies [from %]',
  add_workspace_exclusions: 'Exclude workspaces [from %]',
  remove_workspace_exclusions: 'Stop excluding workspaces [from %]',
  add_project_exclusions: 'Exclude projects [from %]',
  remove_project_exclusions: 'Stop excluding projects [from %]',
  add_tag_selectors: 'Add tag selectors [to %]',
  remove_tag_selectors: 'Remove tag selectors [from %]',
  upload: 'Upload [%]',
  fetch_failed: 'Fail to fetch [%]',
  archive: 'Archive [%]',
  soft_delete_backing_data: 'Delete data [of %]',
  restore_backing_data: 'Restore data [of %]',
  permanently_delete_backing_data: 'Delete data permanently [from %]',
  apply: 'Apply [%]',
  discard: 'Discard [%]',
  cancel: 'Cancel [%]',
  force_cancel: 'Force-cancel [%]',
  force_execute: 'Run next',
  override_policies: 'Override policies',
  rollback: 'Roll back to [%]',
  read: 'Read [%]',
  callback: 'Receive callback [for %]',
  redeliver: 'Redeliver [%]',
  authorize: 'Authorize [%]',
  link: 'Link [%]',
  unlink: 'Unlink [%]',
  register_webhook: 'Create webhook [of %]',
  resync: 'Publish from the repository [of %]',
  rotate_webhook_secret: 'Replace webhook secret [of %]',
  replay: 'Replay [%]',
  resend_commit_status: 'Send status again [of %]',
  add_member: 'Add member [to %]',
  remove_member: 'Remove member [from %]',
  resend_invitation: 'Resend invitation [of %]',
  retry: 'Retry [%]',
  rotate: 'Rotate [%]',
  verify: 'Send test [of %]',
  activate: 'Activate [%]',
  suspend: 'Suspend [%]',
  unsuspend: 'Unsuspend [%]',
  link_identity: 'Link identity [of %]',
  change_password: 'Change password',
  request_password_reset: 'Request password reset',
  create_password_reset: 'Create password reset [for %]',
  reset_password: 'Reset password',
  enroll_two_factor: 'Set up two-factor authentication',
  enable_two_factor: 'Enable two-factor authentication',
  disable_two_factor: 'Disable two-factor authentication',
  renew_recovery_codes: 'Renew recovery codes',
  sign_in: 'Sign in',
  sign_in_failed: 'Failed sign-in',
  sign_out: 'Sign out',
  end_session: 'End session',
  sign_out_everywhere: 'Sign out everywhere',
}

export const ACTIONS = Object.keys(ACTION_TEXTS)

export function typeText(type: string) {
  return (RESOURCE_TYPES as Record<string, string>)[type] ?? spaced(type)
}

/** "Add projects", from `add_projects`. */
export function actionText(action: string) {
  return (ACTION_TEXTS[action] ?? spaced(action)).replace(/ \[.*\]$/, '')
}

/** "Add projects to variable set". */
export function eventText({ action, type }: Pick<AuditEvent['resource'], 'action' | 'type'>) {
  const text = ACTION_TEXTS[action] ?? `${spaced(action)} [%]`
  return text.replaceAll(/[[\]]/g, '').replace('%', typeText(type).toLowerCase())
}

const OWNERS = { teams: 'team', organizations: 'organization', 'agent-pools': 'agent pool' } as const

/** "team developers", for the accounts and the owners of tokens in a trail; a person's username. */
export function actorName({ type, name }: { type: 'users' | keyof typeof OWNERS; name: string }) {
  return type === 'users' ? name : `${OWNERS[type]} ${name}`
}

/** "ci, team developers", for the token of a team, an organization or an agent pool; otherwise the name of the actor. */
export function actorText({ token, description }: AuditEvent['auth']) {
  if (!token) return description
  const owner = actorName(token.owner)
  return token.description === null ? owner : `${token.description}, ${owner}`
}

function spaced(name: string) {
  return capitalized(name.replaceAll('_', ' '))
}
