import { STAGES, type Stage } from '@groundstate/contract/run-tasks'
import type { TaskResultStatus } from '@groundstate/contract/task-results'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type EffectiveTask, listEffectiveTasks, readEffectiveTasks } from '../../tasks/run-tasks/service.ts'
import { type EndedRun, cancelResults, createResults, startResults } from '../../tasks/task-results/service.ts'
import { listResults } from '../../tasks/task-results/store.ts'
import { announceRuns } from './audit.ts'
import { RESULT_DEFERRAL_MS, deferredUntil, endDeferralJob } from './deferral.ts'
import type { RunFacts } from './machine.ts'
import * as store from './stage-store.ts'
import { listStatuses } from './stage-store.ts'
import type { Change } from './transition.ts'

/** A result as its stage counts it. */
export type StageResult = {
  task_name: string
  status: TaskResultStatus
  enforcement_level: 'advisory' | 'mandatory'
  message: string | null
}
type Result = { status: 'passed' | 'failed' | 'errored'; message: string | null }

/**
 * What the results of a stage decide together; undefined while one of them is open. The most restrictive wins: a
 * mandatory task that did not pass stops the run, an advisory one is reported as a warning.
 */
export function stageResult(votes: readonly StageResult[]): Result | undefined {
  if (votes.some(({ status }) => status === 'pending' || status === 'running')) return undefined
  // A canceled result was never asked for.
  const against = votes.filter(({ status }) => status !== 'passed' && status !== 'canceled')
  const mandatory = against.filter((vote) => vote.enforcement_level === 'mandatory')
  if (mandatory.length > 0) {
    const failed = mandatory.some(({ status }) => status === 'failed')
    return { status: failed ? 'failed' : 'errored', message: mandatory.map(describeStageResult).join('; ') }
  }
  return { status: 'passed', message: against.length === 0 ? null : against.map(describeStageResult).join('; ') }
}

function describeStageResult({ task_name, status, enforcement_level, message }: StageResult) {
  const why = message === null || message === '' ? '' : `: ${message}`
  return `the ${enforcement_level} task ${task_name} ${status === 'unreachable' ? 'was unreachable' : status}${why}`
}

/**
 * The stages that a new run of the workspace has: those at which an enabled task is to be asked. They are read with the next statement of
 * the transaction, after which what is returned may be called.
 */
export async function readPlannedStages(
  ctx: Pick<Ctx, 'db'>,
  workspace: { id: string; organization_id: string },
): Promise<() => Promise<Stage[]>> {
  const read = await readEffectiveTasks(ctx, workspace)
  return async () => stagesOf(await read())
}

export function stagesOf(tasks: readonly EffectiveTask[]) {
  return STAGES.filter((name) => tasks.some((task) => task.stages.some(({ stage }) => stage === name)))
}

/** Creates the stages of a new run and their results, as pending. */
export async function createStages(
  ctx: TransactionCtx,
  run: { id: string; workspace_id: string; organization_id: string },
  stages: readonly Stage[],
) {
  const now = ctx.now()
  const rows = stages.map((stage) => ({
    id: ctx.newId('ts'),
    run_id: run.id,
    stage,
    position: STAGES.indexOf(stage),
    status_timestamps: JSON.stringify({ pending: now.toISOString() }),
    created_at: now,
    updated_at: now,
  }))
  await store.insertStages(ctx.db, rows)
  const tasks = await listEffectiveTasks(ctx, { id: run.workspace_id, organization_id: run.organization_id })
  await createResults(ctx, run.id, { tasks, stages: new Map(rows.map((row) => [row.stage, row])) })
}

/**
 * Starts a stage that the run has reached: its requests go out once this transaction has committed. When no task is
 * left to ask, the stage ends at once, and what changes in the run by that is returned: the caller applies it.
 */
export async function startStage(ctx: TransactionCtx, run: { id: string }, name: Stage): Promise<Change | undefined> {
  const stage = await store.beginStage(ctx.db, { runId: run.id, name, now: ctx.now() })
  if (!stage) return undefined
  const waits = await startResults(ctx, stage.id)
  return waits ? undefined : settleStage(ctx, stage.id)
}

/** The stages of a run as the run machine knows them. */
export async function readStageStatuses(ctx: TransactionCtx, runId: string): Promise<RunFacts['stages']> {
  const rows = await listStatuses(ctx.db, runId)
  return Object.fromEntries(rows.map((row) => [row.stage, row.held_until === null ? row.status : 'deferred']))
}

/**
 * Ends a stage whose results have all ended, and returns what changes in its run: the caller applies it. Undefined
 * when the run does not change: a result is still open, the stage has ended already, or its verdict is deferred, and
 * a job reports it. The transaction has locked the run's workspace.
 */
export async function settleStage(ctx: TransactionCtx, stageId: string): Promise<Change | undefined> {
  const result = stageResult(await listResults(ctx.db, [stageId]))
  if (!result) return undefined
  const ended = await store.endStage(ctx.db, stageId, { ...result, now: ctx.now() })
  if (!ended) return undefined
  // Nothing stops a run that has been applied.
  const stops = result.status !== 'passed' && ended.stage !== 'post_apply'
  if (!stops) return {}

  const until = ended.stage === 'pre_plan' ? undefined : deferredUntil(ended.started_at, ctx.now(), RESULT_DEFERRAL_MS)
  if (until === undefined) return { run: { error: result.message } }
  await store.deferResult(ctx.db, stageId, until)
  await announceRuns(ctx, [ended.run_id])
  await ctx.jobs.enqueue(ctx.db, endDeferralJob, { runId: ended.run_id }, { startAfter: until })
  return undefined
}

/** The run has ended: stages and results that are open are canceled. */
export async function cancelStages(ctx: TransactionCtx, run: EndedRun) {
  await store.cancelStages(ctx.db, run.id, ctx.now())
  await cancelResults(ctx, run)
}
