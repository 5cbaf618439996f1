import type { Facts } from '../../../auth/facts.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { workspacePermissions } from '../../../auth/workspace-permissions.ts'
import type { FoundRun } from './store.ts'

/** A run that the actor may see, with what it may do in its workspace. */
export type Run = Omit<FoundRun, 'facts'> & { can: ReadonlySet<WorkspacePermission>; facts: Facts }

/** A run of which the facts about its workspace are known already. */
export function runWithFacts(run: Omit<FoundRun, 'facts'>, facts: Facts): Run {
  return { ...run, facts, can: workspacePermissions(facts) }
}
