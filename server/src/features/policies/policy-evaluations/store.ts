import type { PolicyEvaluationStatus, PolicyOutcome } from '@groundstate/contract/policies'
import { type InferResult, type Insertable, type Selectable, sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { sharedAccessColumn, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import { deferWrite, pipeline } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type NewRow, insertRows } from '../../../db/sql.ts'

export type EvaluationRow = Selectable<Schema['policy_evaluations']> & { outcome_ids: readonly string[] }
export type OutcomeRow = Selectable<Schema['policy_set_outcomes']>

const outcomeIds = sql<string[]>`array(
  select o.id from policy_set_outcomes o where o.policy_evaluation_id = e.id order by o.position)`

/** Evaluations with their run's workspace and its access context. */
function selectEvaluations(db: Db, access: ReturnType<typeof workspaceAccessColumn>) {
  return db
    .selectFrom('policy_evaluations as e')
    .innerJoin('runs', 'runs.id', 'e.run_id')
    .innerJoin('workspaces as w', 'w.id', 'runs.workspace_id')
    .selectAll('e')
    .select(outcomeIds.as('outcome_ids'))
    .select(['w.id as workspace_id', 'w.name as workspace_name', 'w.organization_id'])
    .select(access.as('access'))
}

export async function findEvaluation(db: Db, actor: Actor, id: string) {
  return selectEvaluations(db, workspaceAccessColumn(actor)).where('e.id', '=', id).executeTakeFirst()
}

export async function findEvaluations(db: Db, actor: Actor, ids: readonly string[]) {
  const rows = await selectEvaluations(db, sharedAccessColumn(actor))
    .where(sql<boolean>`e.id = any(${ids})`)
    .execute()
  return shareAccess(rows)
}

/** The evaluations of stages. The caller has authorised the runs. */
export async function listEvaluations(db: Db, stageIds: readonly string[]): Promise<EvaluationRow[]> {
  return db
    .selectFrom('policy_evaluations as e')
    .selectAll('e')
    .select(outcomeIds.as('outcome_ids'))
    .where(sql<boolean>`e.task_stage_id = any(${stageIds})`)
    .execute()
}

/** Query for the effect of a stage's evaluation on the stage. */
export function selectEvaluationStates(db: Db, stageId: string) {
  return db
    .selectFrom('policy_evaluations')
    .select(['status', 'message', 'is_overridable'])
    .where('task_stage_id', '=', stageId)
}
export type EvaluationState = InferResult<ReturnType<typeof selectEvaluationStates>>[number]

/** An outcome with the access context of its run's workspace. */
export async function findOutcome(db: Db, actor: Actor, id: string) {
  return db
    .selectFrom('policy_set_outcomes as s')
    .innerJoin('policy_evaluations as e', 'e.id', 's.policy_evaluation_id')
    .innerJoin('runs', 'runs.id', 'e.run_id')
    .innerJoin('workspaces as w', 'w.id', 'runs.workspace_id')
    .selectAll('s')
    .select(['w.id as workspace_id', 'w.name as workspace_name', 'w.organization_id'])
    .select(workspaceAccessColumn(actor).as('access'))
    .where('s.id', '=', id)
    .executeTakeFirst()
}

/** An item keeps the policies for which all its conditions hold; items are alternatives. */
export type OutcomeFilter = { status?: string | undefined; enforcementLevel?: string | undefined }

/** A page of an evaluation's outcomes: with filters, those with a matching policy, and of their policies only these. */
export async function listOutcomes(
  db: Db,
  evaluationId: string,
  { filters, page }: { filters: readonly OutcomeFilter[]; page: Page },
) {
  const rows = await db
    .selectFrom('policy_set_outcomes')
    .selectAll()
    .where('policy_evaluation_id', '=', evaluationId)
    .orderBy('position')
    .execute()
  const matches = (policy: PolicyOutcome) =>
    filters.some(
      ({ status = policy.status, enforcementLevel = policy.enforcement_level }) =>
        policy.status === status && policy.enforcement_level === enforcementLevel,
    )
  const matching = filters.length === 0 ? rows : rows.filter((row) => (row.outcomes as PolicyOutcome[]).some(matches))
  const offset = pageOffset(page)
  return { rows: matching.slice(offset, offset + page.size), total: matching.length }
}

export async function insertEvaluation(tx: Tx, row: Insertable<Schema['policy_evaluations']>) {
  await tx.insertInto('policy_evaluations').values(row).execute()
}

/** Starts the pending evaluation of a stage; undefined for none. */
export async function beginEvaluation(tx: Tx, stageId: string, now: Date) {
  const { rows } = await sql<{ id: string }>`update policy_evaluations
       set status = 'running', status_timestamps = status_timestamps || ${stamp('running', now)}, updated_at = ${now}
     where task_stage_id = ${stageId} and status = 'pending'
    returning id`.execute(tx)
  return rows[0]
}

/** An evaluation that is running and not queued yet, with its run. */
export async function findStarted(db: Db, id: string) {
  return db
    .selectFrom('policy_evaluations as e')
    .innerJoin('runs as r', 'r.id', 'e.run_id')
    .innerJoin('workspaces as w', 'w.id', 'r.workspace_id')
    .select(['e.id', 'e.run_id', 'r.workspace_id', 'r.organization_id', 'w.project_id', 'r.agent_pool_id'])
    .where('e.id', '=', id)
    .where('e.status', '=', 'running')
    .where(sql<boolean>`not exists (select from policy_requests q where q.policy_evaluation_id = e.id)`)
    .executeTakeFirst()
}

const MAX_RESUMED = 1000

/** Evaluations that have been running since a time, and their requests; null for those that were never queued. */
export async function listRunningSince(db: Db, before: Date) {
  return db
    .selectFrom('policy_evaluations as e')
    .leftJoin('policy_requests as q', 'q.policy_evaluation_id', 'e.id')
    .select(['e.id', 'q.id as request_id'])
    .where('e.status', '=', sql.lit('running' as const))
    .where('e.updated_at', '<', before)
    .orderBy('e.updated_at')
    .limit(MAX_RESUMED)
    .execute()
}

/** Locks the workspace of an evaluation's run, and returns the evaluation if it is running. */
export async function lockRunning(tx: Tx, id: string) {
  await sql`select from workspaces where id = (
      select r.workspace_id from policy_evaluations e join runs r on r.id = e.run_id where e.id = ${id})
    for no key update`.execute(tx)
  return tx
    .selectFrom('policy_evaluations as e')
    .innerJoin('runs as r', 'r.id', 'e.run_id')
    .select(['e.id', 'e.run_id', 'e.task_stage_id', 'r.plan_only', 'r.workspace_id', 'r.organization_id'])
    .where('e.id', '=', id)
    .where('e.status', '=', 'running')
    .executeTakeFirst()
}

export type EvaluationEnd = Pick<
  EvaluationRow,
  'message' | 'is_overridable' | 'tool_version' | 'passed' | 'advisory_failed' | 'mandatory_failed' | 'errored'
> & { status: 'passed' | 'failed' | 'errored' }

export async function endEvaluation(tx: Tx, id: string, { end, now }: { end: EvaluationEnd; now: Date }) {
  await tx
    .updateTable('policy_evaluations')
    .set({ ...end, status_timestamps: sql`status_timestamps || ${stamp(end.status, now)}`, updated_at: now })
    .where('id', '=', id)
    .execute()
}

/** Those of the sets and versions that still exist, and will until the end of the transaction. */
export async function lockSources(
  tx: Tx,
  { setIds, versionIds }: { setIds: readonly string[]; versionIds: readonly string[] },
) {
  const [sets, versions] = await pipeline(tx, [
    sql<{ id: string }>`select id from policy_sets where id = any(${setIds}) for key share`,
    sql<{ id: string }>`select id from policy_set_versions where id = any(${versionIds}) for key share`,
  ])
  return new Set([...sets, ...versions].map(({ id }) => id))
}

export async function insertOutcomes(tx: Tx, rows: readonly NewRow<'policy_set_outcomes'>[]) {
  if (rows.length > 0) await insertRows(tx, 'policy_set_outcomes', rows).execute()
}

/** Cancels running evaluations of a run, and makes pending ones unreachable; agents drop the deleted requests. */
export async function cancelEvaluations(tx: Tx, runId: string, now: Date) {
  const canceled = sql`with canceled as (
      update policy_evaluations
         set status = case status when 'pending' then 'unreachable' else 'canceled' end, updated_at = ${now},
             status_timestamps = status_timestamps
               || case status when 'pending' then ${stamp('unreachable', now)} else ${stamp('canceled', now)} end
       where run_id = ${runId} and status in ('pending', 'running')
      returning id)
    delete from policy_requests q using canceled where q.policy_evaluation_id = canceled.id`
  await deferWrite(tx, canceled)
}

type Override = { userId: string | null; comment: string | null; now: Date }

export async function overrideEvaluation(tx: Tx, stageId: string, { userId, comment, now }: Override) {
  await sql`update policy_evaluations
       set status = 'overridden', status_timestamps = status_timestamps || ${stamp('overridden', now)},
           overridden_by_user_id = ${userId}, override_comment = ${comment}, updated_at = ${now}
     where task_stage_id = ${stageId} and status in ('failed', 'errored')`.execute(tx)
}

function stamp(status: PolicyEvaluationStatus, now: Date) {
  return sql`${JSON.stringify({ [status]: now.toISOString() })}::jsonb`
}
