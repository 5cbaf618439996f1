import { type Selectable, sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { sharedAccessColumn, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import type { Db } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import type { EvaluationRow } from '../../policies/policy-evaluations/store.ts'
import type { TaskResultRow } from '../../tasks/task-results/store.ts'

type TaskStageRow = Selectable<Schema['task_stages']>

function selectStages(db: Db, access: ReturnType<typeof workspaceAccessColumn>) {
  return db
    .selectFrom('task_stages as s')
    .innerJoin('runs', 'runs.id', 's.run_id')
    .innerJoin('workspaces as w', 'w.id', 'runs.workspace_id')
    .selectAll('s')
    .select(['w.id as workspace_id', 'w.name as workspace_name', 'w.organization_id'])
    .select(access.as('access'))
}

export async function findTaskStage(db: Db, actor: Actor, id: string) {
  return selectStages(db, workspaceAccessColumn(actor)).where('s.id', '=', id).executeTakeFirst()
}

export async function findTaskStages(db: Db, actor: Actor, ids: readonly string[]) {
  const rows = await selectStages(db, sharedAccessColumn(actor))
    .where(sql<boolean>`s.id = any(${ids})`)
    .execute()
  return shareAccess(rows)
}

/** The stages of the runs, in execution order. */
export async function listStages(db: Db, runIds: readonly string[]) {
  return db
    .selectFrom('task_stages')
    .selectAll()
    .where(sql<boolean>`run_id = any(${runIds})`)
    .orderBy('run_id')
    .orderBy('position')
    .execute()
}

export type TaskStage = TaskStageRow & {
  results: readonly (TaskResultRow & { plan_only: boolean })[]
  evaluations: readonly EvaluationRow[]
  can: ReadonlySet<WorkspacePermission>
}
