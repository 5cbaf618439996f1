import { type InferResult, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/db.ts'
import { pipeline } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { isNewerConfiguration } from '../configuration-versions/store.ts'

export async function lockRunWorkspace(tx: Tx, id: string): Promise<LockedWorkspace | undefined> {
  return runWorkspaceLock(tx, id).executeTakeFirst()
}

/** Locks many workspaces, in the order of their ids: before their runs, and before what else several transactions may write. */
export async function lockRunWorkspaces(tx: Tx, ids: readonly string[]) {
  await sql`select from workspaces where id = any(${ids}) order by id for no key update`.execute(tx)
}

export function runWorkspaceLock(tx: Tx, id: string | RawBuilder<string>) {
  return tx.selectFrom('workspaces').select(LOCKED_WORKSPACE_COLUMNS).where('id', '=', id).forNoKeyUpdate()
}

export type RunKey = { id: string; workspaceId?: string }

/** Locks the workspace of a run and then reads the run, which includes changes that the lock waited for. */
export async function lockRun(tx: Tx, key: RunKey): Promise<LockedRun | undefined> {
  const [workspaces, runs] = await pipeline(tx, runLock(tx, key))
  return lockedRunOf(workspaces, runs)
}

/** The queries of `lockRun`, whose rows `lockedRunOf` reads. */
export function runLock(tx: Tx, { id, workspaceId }: RunKey) {
  const ofRun = sql<string>`(select workspace_id from runs where id = ${id})`
  return [runWorkspaceLock(tx, workspaceId ?? ofRun), selectRun(tx, id)] as const
}

export function lockedRunOf(workspaces: readonly LockedWorkspace[], runs: readonly RunWithParts[]) {
  const [workspace, run] = [workspaces[0], runs[0]]
  return workspace && run && lockedRun(workspace, run)
}

/** As `lockRun`, for a workspace that is already locked. */
export async function readLockedRun(tx: Tx, workspace: LockedWorkspace, id: string): Promise<LockedRun | undefined> {
  const row = await selectRun(tx, id).executeTakeFirst()
  return row && lockedRun(workspace, row)
}

type RunWithParts = InferResult<ReturnType<typeof selectRun>>[number]

function selectRun(tx: Tx, id: string) {
  return tx
    .selectFrom('runs')
    .selectAll('runs')
    .select([
      phaseColumn('plan').as('plan'),
      phaseColumn('apply').as('apply'),
      sql<LockedJob | null>`(select to_jsonb(j) from (
          select id, kind, status, attempt, agent_id, command from agent_jobs
           where run_id = runs.id and status <> 'ended') j)`.as('job'),
      sql<string | null>`(select j.agent_id from phases p join agent_jobs j on j.id = p.job_id
          where p.run_id = runs.id and p.kind = 'plan')`.as('plan_agent_id'),
      sql<
        string | null
      >`(select queued.id from runs queued where queued.workspace_id = runs.workspace_id and queued.waits
          order by queued.queue_order limit 1)`.as('first_waiting'),
      isNewerConfiguration({
        id: sql.ref('runs.configuration_version_id'),
        currentId: sql`(select current_configuration_version_id from workspaces where id = runs.workspace_id)`,
      }).as('is_configuration_newer'),
      isObserved.as('is_observed'),
    ])
    .where('id', '=', id)
}

/** Whether a run may have somebody to notify: looking here is cheaper than the insertion of nothing at each change of a run. */
const isObserved = sql<boolean>`(not runs.plan_only and (
     exists (select from notification_configurations c where c.workspace_id = runs.workspace_id)
  or exists (select from notification_configurations c join workspaces w on w.project_id = c.project_id
              where w.id = runs.workspace_id)
  or exists (select from notification_settings s where s.user_id = runs.created_by_user_id)))`

function lockedRun(workspace: LockedWorkspace, row: RunWithParts): LockedRun | undefined {
  if (row.workspace_id !== workspace.id) return undefined
  const { plan, apply, job, plan_agent_id, first_waiting, is_configuration_newer, is_observed, ...run } = row
  return {
    workspace,
    run,
    plan: lockedPhase(plan),
    apply: lockedPhase(apply),
    job: job ?? undefined,
    planAgentId: plan_agent_id,
    isFirst: first_waiting === run.id,
    isConfigurationNewer: is_configuration_newer,
    isObserved: is_observed,
  }
}

export const LOCKED_WORKSPACE_COLUMNS = [
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
  'has_drift',
] as const satisfies readonly (keyof Schema['workspaces'])[]

type PhaseJson = Omit<LockedPhase, 'deferred_until'> & { deferred_until: string | null }

function phaseColumn(kind: 'plan' | 'apply') {
  return sql<PhaseJson>`(select to_jsonb(p) from (
      select id, kind, status, status_timestamps, job_id, deferred_until from phases
       where run_id = runs.id and kind = ${sql.lit(kind)}) p)`
}

function lockedPhase(json: PhaseJson): LockedPhase {
  return { ...json, deferred_until: json.deferred_until === null ? null : new Date(json.deferred_until) }
}

export type RunRow = Selectable<Schema['runs']>

export type LockedWorkspace = Pick<Selectable<Schema['workspaces']>, (typeof LOCKED_WORKSPACE_COLUMNS)[number]>

export type LockedPhase = Pick<Selectable<Schema['phases']>, 'id' | 'kind' | 'status' | 'job_id' | 'deferred_until'> & {
  status_timestamps: Record<string, string>
}
export type LockedJob = Pick<
  Selectable<Schema['agent_jobs']>,
  'id' | 'kind' | 'status' | 'attempt' | 'agent_id' | 'command'
>

/** A run and all that changes with it. Every change locks the workspace, so the rows stay valid until the commit. */
export type LockedRun = {
  workspace: LockedWorkspace
  run: RunRow
  plan: LockedPhase
  apply: LockedPhase
  /** The queued or running job. */
  job: LockedJob | undefined
  /** The agent that executed the plan and may still have the run's directory. */
  planAgentId: string | null
  /** Whether the run is the first in the queue of its workspace. */
  isFirst: boolean
  /** Whether the run's configuration is newer than the current one of the workspace. */
  isConfigurationNewer: boolean
  /** Whether somebody may be notified of the run. */
  isObserved: boolean
}
