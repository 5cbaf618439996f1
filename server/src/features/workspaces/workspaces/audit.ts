import type { AuditEvent } from '../../../audit/record.ts'
import type { Actor } from '../../../auth/actor.ts'
import { invalid } from '../../../errors.ts'
import { domainEvent } from '../../../events.ts'
import type { OrganizationRow } from '../../organizations/organizations/store.ts'
import type { Workspace } from './access.ts'
import type { Lock, WorkspaceRow } from './store.ts'

export function workspaceAudit(
  workspace: Pick<Workspace, 'id' | 'organization_id'>,
  action: string,
  meta: Record<string, unknown>,
): AuditEvent {
  const { id, organization_id: organizationId } = workspace
  return {
    organizationId,
    action,
    resource: { type: 'workspace', id },
    meta,
    notices: [{ type: 'workspaces', id, workspace: id }],
  }
}

export function lockAudit(workspace: Workspace, action: LockAction) {
  return workspaceAudit(workspace, action, { name: workspace.name })
}

export type LockAction = 'lock' | 'unlock' | 'force_unlock'

/**
 * A workspace is about to be created in the organization. It is raised before the row is inserted, so a reaction may
 * refuse.
 */
export const workspaceCreating = domainEvent<{ organization: Pick<OrganizationRow, 'id' | 'plan'> }>(
  'workspace.creating',
)

/**
 * A user or a team is about to lock a workspace in which an earlier holder of the lock has left something. The payload is its
 * row, which is locked.
 */
export const workspaceLocking = domainEvent<WorkspaceRow>('workspace.locking')

/** A workspace's lock was released. The payload is its row as it was under the lock. */
export const workspaceUnlocked = domainEvent<WorkspaceRow>('workspace.unlocked')

export type LockHolder = { type: 'user' | 'team' | 'run'; id: string }

export const UNLOCKED = {
  locked_by_type: null,
  locked_by_id: null,
  locked_reason: null,
  locked_at: null,
} as const satisfies Lock

/**
 * As whom the actor holds a lock: clients know users, teams and runs. Undefined for an organization's token, which
 * locks as its owners team, and for actors that may not lock.
 */
export function lockHolder(actor: Actor): LockHolder | undefined {
  if (actor.kind === 'run') return { type: 'run', id: actor.runId }
  if (actor.kind !== 'user') return undefined
  return actor.teamId === undefined ? { type: 'user', id: actor.userId } : { type: 'team', id: actor.teamId }
}

/** Whether the actor itself holds the lock of the workspace. */
export function isLockedBy(workspace: Pick<Lock, 'locked_by_type' | 'locked_by_id'>, actor: Actor) {
  const holder = lockHolder(actor)
  return holder !== undefined && workspace.locked_by_type === holder.type && workspace.locked_by_id === holder.id
}

/**
 * Refuses to unlock a workspace while its newest state version awaits its content. Clients look for the words
 * `latest state version is still pending`, and take a conflict for a workspace that is unlocked already.
 */
export function checkNoPendingStateVersion({ pending_state_version_id: pending }: WorkspaceRow) {
  if (pending !== null) throw invalid(`the latest state version is still pending: ${pending} awaits its upload`)
}
