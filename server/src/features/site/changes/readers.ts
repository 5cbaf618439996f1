import type { ChangeType } from '@groundstate/contract/changes'
import { type AccessColumn, type AccessContext, type GrantsColumn, listedAccess } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import type { OrganizationPermission, ProjectPermission, WorkspacePermission } from '../../../auth/permissions.ts'
import { projectPermissions } from '../../../auth/project-permissions.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import type { SignalledChange } from '../../../changes/feed.ts'

type Readers =
  | { workspace: WorkspacePermission }
  | {
      /** Required: one of these. */
      organization: readonly OrganizationPermission[]
      /** Readers of a change that names teams, in addition to the teams. */
      ofTeams?: { organization?: readonly OrganizationPermission[]; project?: readonly ProjectPermission[] }
    }

const READERS = {
  workspaces: { workspace: 'workspace:read' },
  runs: { workspace: 'runs:read' },
  'task-results': { workspace: 'runs:read' },
  logs: { workspace: 'runs:read' },
  'state-versions': { workspace: 'state-versions:read' },
  vars: { workspace: 'variables:read' },
  'run-triggers': { workspace: 'runs:read' },
  'workspace-tasks': { workspace: 'workspace:read' },
  tasks: { organization: ['run-tasks:read'] },
  policies: { organization: ['policies:read'] },
  'policy-sets': { organization: ['policies:read'] },
  'policy-trials': { organization: ['policies:manage'] },
  agents: { organization: ['agent-pools:read'] },
  'agent-pools': { organization: ['agent-pools:read'] },
  'oauth-clients': { organization: ['vcs-settings:read'] },
  'github-app-installations': { organization: ['vcs-settings:read'] },
  'ssh-keys': { organization: ['vcs-settings:read'] },
  'registry-modules': { organization: ['registry:read'] },
  'registry-providers': { organization: ['registry:read'] },
  'gpg-keys': { organization: ['registry:read'] },
  'vcs-deliveries': { organization: ['vcs-settings:read'] },
  /** Those of projects and teams name the teams that see them. */
  'notification-configurations': { workspace: 'workspace:read' },
  varsets: { organization: ['variable-sets:read'], ofTeams: { project: ['variable-sets:read'] } },
  projects: { organization: [], ofTeams: { project: ['project:read'] } },
  organizations: { organization: ['organization:read'] },
  teams: { organization: ['organization:read'], ofTeams: { organization: ['teams:read-all'] } },
  'organization-memberships': { organization: ['members:read'] },
} as const satisfies Record<ChangeType, Readers>

/** A caller's access to an organization, without grants on single workspaces. */
export type AccessSnapshot = {
  access: AccessContext
  teams: ReadonlySet<string>
  organization: ReadonlySet<OrganizationPermission>
  anyProject: ReadonlySet<ProjectPermission>
  anyWorkspace: ReadonlySet<WorkspacePermission>
  /** Differs for different access. */
  digest: string
}

type SnapshotParts = { teams: readonly string[]; column: AccessColumn; grants: string }

export function accessSnapshot(access: AccessContext, { teams, column, grants }: SnapshotParts): AccessSnapshot {
  const anywhere = { ...access, projectGrants: [], workspaceGrants: [] }
  return {
    access,
    teams: new Set(teams),
    organization: organizationPermissions(access),
    anyProject: projectPermissions(anywhere),
    anyWorkspace: workspacePermissions(anywhere),
    digest: JSON.stringify([column?.owner, column?.member, column?.access, teams, grants]),
  }
}

/** Whether the caller may read a change; `ask` if the grants on its workspace decide. */
export function mayRead(snapshot: AccessSnapshot, change: SignalledChange): boolean | 'ask' {
  const readers: Readers | undefined = READERS[change.type]
  // Announced by a server of a newer version.
  if (readers === undefined) return false
  if ('workspace' in readers) {
    if (snapshot.anyWorkspace.has(readers.workspace)) return true
    return change.teams ? isInTeams(snapshot, change.teams) : 'ask'
  }
  if (!change.teams) return readers.organization.some((name) => snapshot.organization.has(name))
  const { organization = [], project = [] } = readers.ofTeams ?? {}
  return (
    organization.some((name) => snapshot.organization.has(name)) ||
    project.some((name) => snapshot.anyProject.has(name)) ||
    isInTeams(snapshot, change.teams)
  )
}

/** As `mayRead`, with the caller's permissions in the workspace of the change. */
export function mayReadIn(permissions: ReadonlySet<WorkspacePermission>, { type }: SignalledChange) {
  const readers: Readers | undefined = READERS[type]
  return readers !== undefined && 'workspace' in readers && permissions.has(readers.workspace)
}

export function permissionsIn({ access }: AccessSnapshot, grants: GrantsColumn) {
  return workspacePermissions(listedAccess(access, grants))
}

function isInTeams({ teams }: AccessSnapshot, named: readonly string[]) {
  return named.some((id) => teams.has(id))
}
