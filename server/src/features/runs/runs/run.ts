import type { AccessContext } from '../../../auth/access-context.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import type { FoundRun } from './store.ts'

/** A run that the actor may see, with what it may do in its workspace. */
export type Run = Omit<FoundRun, 'access'> & { can: ReadonlySet<WorkspacePermission>; access: AccessContext }

/** A run of which the facts about its workspace are known already. */
export function runWithAccess(run: Omit<FoundRun, 'access'>, access: AccessContext): Run {
  return { ...run, access, can: workspacePermissions(access) }
}
