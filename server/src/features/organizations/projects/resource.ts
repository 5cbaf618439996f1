import type { ProjectResource } from '@groundstate/contract/projects'
import type { Project } from './access.ts'

export type CountedProject = Project & { workspace_count: number; team_count: number }

export function projectResource(project: CountedProject): ProjectResource {
  const { can } = project
  const mode = project.default_execution_mode ?? project.organization_execution_mode
  const pool = project.default_execution_mode
    ? project.default_agent_pool_id
    : (project.default_agent_pool_id ?? project.organization_agent_pool_id)
  const self = `/api/v2/projects/${project.id}`
  return {
    id: project.id,
    type: 'projects',
    attributes: {
      name: project.name,
      description: project.description,
      'created-at': project.created_at,
      'auto-destroy-activity-duration': project.auto_destroy_activity_duration,
      'default-execution-mode': mode,
      'setting-overwrites': {
        'default-execution-mode': project.default_execution_mode !== null,
        'default-agent-pool': project.default_execution_mode !== null,
      },
      'workspace-count': project.workspace_count,
      'team-count': can.has('team-access:read') ? project.team_count : null,
      'is-unified': false,
      permissions: {
        'can-read': true,
        'can-update': can.has('project:update'),
        'can-destroy': can.has('project:delete') && project.id !== project.default_project_id,
        'can-create-workspace': can.has('workspaces:create'),
        'can-move-workspace': can.has('workspaces:move'),
        'can-read-teams': can.has('team-access:read'),
        'can-manage-teams': can.has('team-access:manage'),
        'can-manage-tags': can.has('tags:manage'),
        'can-manage-varsets': can.has('variable-sets:manage'),
        'can-move-stack': false,
        'can-manage-stacks': false,
        'can-view-stacks': false,
        'can-update-stacks': false,
        'can-deploy-no-code-modules': false,
        'can-manage-ephemeral-workspace-for-projects': can.has('project:update'),
      },
    },
    relationships: {
      organization: {
        data: { id: project.organization_name, type: 'organizations' },
        links: { related: `/api/v2/organizations/${project.organization_name}` },
      },
      'default-agent-pool': { data: mode === 'agent' && pool ? { id: pool, type: 'agent-pools' } : null },
      'tag-bindings': { links: { related: `${self}/tag-bindings` } },
      'effective-tag-bindings': { links: { related: `${self}/effective-tag-bindings` } },
    },
    links: { self },
  }
}
