import type { WorkspacePermission } from '../../../auth/permissions.ts'
import type { TaskResultRow } from '../../tasks/task-results/store.ts'
import type { TaskStageRow } from './store.ts'

/** A stage with its results, and what the actor may do in its workspace. */
export type TaskStage = TaskStageRow & {
  results: readonly (TaskResultRow & { plan_only: boolean })[]
  can: ReadonlySet<WorkspacePermission>
}
