import { forbidden, notFound } from '../errors.ts'
import { type AccessColumn, readAccessContext } from './access-context.ts'
import type { Actor } from './actor.ts'
import type { WorkspacePermission } from './permissions.ts'
import { checkSignInPolicy } from './sign-in-policy.ts'
import { workspacePermissions } from './workspace-permissions.ts'

/** A row of a run or a part of one, selected with `workspaceAccessColumn`. */
type RowOfWorkspace = { organization_id: string; workspace_id: string; workspace_name: string; access: AccessColumn }

/** The access context of such a row, and the actor's permissions on the workspace. */
export function readAccess(actor: Actor, row: Omit<RowOfWorkspace, 'workspace_name'>) {
  const access = readAccessContext(actor, {
    organizationId: row.organization_id,
    workspaceId: row.workspace_id,
    access: row.access,
  })
  return { access, can: workspacePermissions(access) }
}

export function canReadRuns({ access, can }: ReturnType<typeof readAccess>) {
  return !access.signInRequirement && can.has('runs:read')
}

/**
 * Throws `not-found` about the `noun` for an actor that may not read the workspace's runs, and `forbidden` for one that lacks `permission`.
 * The sign-in policy is not revealed to actors that may not see the workspace.
 */
export function checkAccess(
  { access, can }: ReturnType<typeof readAccess>,
  { noun, permission, workspaceName }: { noun: string; permission: WorkspacePermission; workspaceName: string },
) {
  if (can.size > 0) checkSignInPolicy(access)
  if (!can.has('runs:read')) throw notFound(noun)
  if (!can.has(permission)) throw forbidden(`this needs the permission ${permission} on the workspace ${workspaceName}`)
}
