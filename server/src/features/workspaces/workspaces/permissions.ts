import type { Workspace } from './workspace.ts'

export function permissionsBlock(workspace: Workspace) {
  const { can } = workspace
  return {
    'can-update': can.has('workspace:update'),
    'can-destroy': can.has('workspace:delete'),
    // Its mere presence tells the command line that there is a safe delete.
    'can-force-delete': mayForceDelete(workspace),
    'can-queue-run': can.has('runs:plan'),
    'can-queue-apply': can.has('runs:apply'),
    'can-queue-destroy': can.has('runs:apply') && workspace.allow_destroy_plan,
    'can-read-run': can.has('runs:read'),
    'can-read-variable': can.has('variables:read'),
    'can-update-variable': can.has('variables:write'),
    'can-read-state-versions': can.has('state-versions:read'),
    'can-read-state-outputs': can.has('state-outputs:read'),
    'can-create-state-versions': can.has('state-versions:write'),
    'can-lock': can.has('lock'),
    'can-unlock': can.has('lock'),
    'can-force-unlock': can.has('force-unlock'),
    'can-read-settings': can.has('workspace:read'),
    'can-manage-tags': can.has('tags:manage'),
    'can-manage-run-tasks': can.has('run-tasks:manage'),
    'can-manage-assessments': false,
    'can-read-assessment-results': can.has('runs:read'),
    'can-manage-ephemeral-workspaces': can.has('workspace:update'),
    'can-manage-hyok': false,
  }
}

/**
 * Whether the actor may delete a workspace that still manages resources: owners always, others who may delete it when
 * the organization allows that (public documentation: organizations, `allow-force-delete-workspaces`).
 */
export function mayForceDelete(workspace: Workspace) {
  const { role } = workspace.access
  if (role === 'owner' || role === 'organization-token' || role === 'system') return true
  return workspace.allow_force_delete_workspaces && workspace.can.has('workspace:delete')
}
