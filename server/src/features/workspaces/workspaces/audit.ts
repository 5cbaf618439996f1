import type { AuditEvent } from '../../../audit/record.ts'
import { domainEvent } from '../../../events.ts'
import type { OrganizationRow } from '../../organizations/organizations/store.ts'
import type { WorkspaceRow } from './store.ts'

export function workspaceAudit(
  { id, organization_id: organizationId }: Pick<WorkspaceRow, 'id' | 'organization_id'>,
  action: string,
  meta: Record<string, unknown>,
): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'workspace', id },
    meta,
    notices: [{ type: 'workspaces', id, workspace: id }],
  }
}

/** A workspace is about to be created in the organization. A reaction may throw to prevent that: the row is not inserted yet. */
export const workspaceCreating = domainEvent<{ organization: Pick<OrganizationRow, 'id' | 'plan'> }>(
  'workspace.creating',
)

/** Raised in the transaction in which a workspace starts to follow a repository, or another one or its branch. */
export const repositoryChosen = domainEvent<{ workspaceId: string }>('workspace.repository-chosen')

/** A user or team is about to lock a workspace on which an earlier lock holder has left something. The payload is its locked row. */
export const workspaceLocking = domainEvent<WorkspaceRow>('workspace.locking')

/** A workspace's lock was released. The payload is its row before the release. */
export const workspaceUnlocked = domainEvent<WorkspaceRow>('workspace.unlocked')
