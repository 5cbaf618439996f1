import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type RunRow = Selectable<Schema['runs']>
export type PhaseRow = Selectable<Schema['phases']>
export type JobRow = Selectable<Schema['agent_jobs']>
export type HeldWorkspace = Pick<
  Selectable<Schema['workspaces']>,
  | 'id'
  | 'organization_id'
  | 'active_run_id'
  | 'current_run_id'
  | 'waiting_runs'
  | 'run_count'
  | 'locked_by_type'
  | 'locked_by_id'
  | 'current_state_version_id'
  | 'latest_state_version_id'
  | 'pending_state_version_id'
  | 'current_configuration_version_id'
>

/** What the machine needs to know of a phase, timestamps as JSON has them. */
export type HeldPhase = Pick<PhaseRow, 'id' | 'kind' | 'status' | 'job_id' | 'held_until' | 'log_opened_at'> & {
  status_timestamps: Record<string, string>
}
export type HeldJob = Pick<JobRow, 'id' | 'kind' | 'status' | 'attempt' | 'agent_id' | 'command'>

/**
 * A run with everything that moves with it, read while this transaction holds the workspace's row. Whoever changes a run
 * holds that row: what stands here stays true until the commit.
 */
export type HeldRun = {
  workspace: HeldWorkspace
  run: RunRow
  plan: HeldPhase
  apply: HeldPhase
  /** The job that is queued or running. */
  job: HeldJob | undefined
  /** The agent that made the plan, and may still have the run's folder. */
  planAgentId: string | null
  /** Whether it is the first in line for the workspace. */
  first: boolean
}

export async function holdWorkspace(tx: Tx, id: string): Promise<HeldWorkspace | undefined> {
  return selectWorkspace(tx).where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

/** Takes the row of the run's workspace, and only then reads the run: what it waited for is in what it reads. */
export async function holdRun(tx: Tx, key: { id: string; workspaceId?: string }): Promise<HeldRun | undefined> {
  const workspace =
    key.workspaceId === undefined
      ? await selectWorkspace(tx)
          .where('id', '=', (eb) => eb.selectFrom('runs').select('workspace_id').where('id', '=', key.id))
          .forNoKeyUpdate()
          .executeTakeFirst()
      : await holdWorkspace(tx, key.workspaceId)
  return workspace && readHeldRun(tx, workspace, key.id)
}

/** As `holdRun`, for a workspace whose row this transaction holds already. */
export async function readHeldRun(tx: Tx, workspace: HeldWorkspace, id: string): Promise<HeldRun | undefined> {
  const row = await tx
    .selectFrom('runs')
    .selectAll('runs')
    .select((eb) => [
      phaseColumn('plan').as('plan'),
      phaseColumn('apply').as('apply'),
      sql<HeldJob | null>`(select to_jsonb(j) from (
          select id, kind, status, attempt, agent_id, command from agent_jobs
           where run_id = runs.id and status <> 'ended') j)`.as('job'),
      sql<string | null>`(select j.agent_id from phases p join agent_jobs j on j.id = p.job_id
          where p.run_id = runs.id and p.kind = 'plan')`.as('plan_agent_id'),
      eb
        .selectFrom('runs as line')
        .select('line.id')
        .whereRef('line.workspace_id', '=', 'runs.workspace_id')
        .where('line.waits', '=', sql.lit(true))
        .orderBy('line.queue_order')
        .limit(sql.lit(1))
        .as('first_waiting'),
    ])
    .where('id', '=', id)
    .where('workspace_id', '=', workspace.id)
    .executeTakeFirst()
  if (!row) return undefined
  const { plan, apply, job, plan_agent_id, first_waiting, ...run } = row
  return {
    workspace,
    run,
    plan: heldPhase(plan),
    apply: heldPhase(apply),
    job: job ?? undefined,
    planAgentId: plan_agent_id,
    first: first_waiting === run.id,
  }
}

export const HELD_WORKSPACE_COLUMNS = [
  'id',
  'organization_id',
  'active_run_id',
  'current_run_id',
  'waiting_runs',
  'run_count',
  'locked_by_type',
  'locked_by_id',
  'current_state_version_id',
  'latest_state_version_id',
  'pending_state_version_id',
  'current_configuration_version_id',
] as const satisfies readonly (keyof HeldWorkspace)[]

function selectWorkspace(tx: Tx) {
  return tx.selectFrom('workspaces').select(HELD_WORKSPACE_COLUMNS)
}

type PhaseJson = Omit<HeldPhase, 'held_until' | 'log_opened_at'> & {
  held_until: string | null
  log_opened_at: string | null
}

function phaseColumn(kind: 'plan' | 'apply') {
  return sql<PhaseJson>`(select to_jsonb(p) from (
      select id, kind, status, status_timestamps, job_id, held_until, log_opened_at from phases
       where run_id = runs.id and kind = ${sql.lit(kind)}) p)`
}

function heldPhase(json: PhaseJson): HeldPhase {
  return { ...json, held_until: readDate(json.held_until), log_opened_at: readDate(json.log_opened_at) }
}

function readDate(text: string | null) {
  return text === null ? null : new Date(text)
}
