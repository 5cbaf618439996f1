import { domainEvent } from '../../../events/events.ts'
import type { OrganizationRow } from '../../organizations/organizations/store.ts'
import type { WorkspaceRow } from './store.ts'

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
