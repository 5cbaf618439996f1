import { STAGES, type Stage } from '@groundstate/contract/run-tasks'
import type { TaskResultStatus } from '@groundstate/contract/task-results'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { readWithNext } from '../../../db/pipeline.ts'
import { cancelEvaluations, createEvaluation, startEvaluation } from '../../policies/policy-evaluations/service.ts'
import { type EvaluationState, selectEvaluationStates } from '../../policies/policy-evaluations/store.ts'
import { readEffectivePolicySets } from '../../policies/policy-sets/service.ts'
import { listEffectiveTasks, readEffectiveTasks } from '../../tasks/run-tasks/service.ts'
import { type EndedRun, cancelResults, createResults, startResults } from '../../tasks/task-results/service.ts'
import { listResults } from '../../tasks/task-results/store.ts'
import { announceRuns } from './audit.ts'
import { RESULT_DEFERRAL_MS, deferredUntil, endDeferralJob } from './deferral.ts'
import type { RunConditions } from './machine.ts'
import * as store from './stage-store.ts'
import type { Change } from './transition.ts'

export type StageResult = {
  task_name: string
  status: TaskResultStatus
  enforcement_level: 'advisory' | 'mandatory'
  message: string | null
}

/** Undefined while a result is open. A failed mandatory task stops the run, an advisory one is reported as a warning. */
export function stageResult(results: readonly StageResult[]) {
  if (results.some(({ status }) => status === 'pending' || status === 'running')) return undefined
  // Canceled results were never requested.
  const negative = results.filter(({ status }) => status !== 'passed' && status !== 'canceled')
  const mandatory = negative.filter((result) => result.enforcement_level === 'mandatory')
  if (mandatory.length > 0) {
    const status = mandatory.some((result) => result.status === 'failed') ? 'failed' : 'errored'
    return { status, message: mandatory.map(describeStageResult).join('; ') } as const
  }
  const warnings = negative.map(describeStageResult).join('; ')
  return { status: 'passed', message: warnings === '' ? null : warnings } as const
}

function describeStageResult({ task_name, status, enforcement_level, message }: StageResult) {
  const why = message === null || message === '' ? '' : `: ${message}`
  return `the ${enforcement_level} task ${task_name} ${status === 'unreachable' ? 'was unreachable' : status}${why}`
}

/** The effect of policies on their stage; undefined while they are evaluated. */
function policyResult(evaluation: EvaluationState | undefined) {
  if (!evaluation) return { status: 'passed', message: null } as const
  const { status, message, is_overridable: isOverridable } = evaluation
  if (status === 'pending' || status === 'running') return undefined
  if (status !== 'failed' && status !== 'errored') return { status: 'passed', message } as const
  return { status: isOverridable ? ('awaiting_override' as const) : status, message }
}

/** The result of a stage. A failed task cannot be overridden, so it takes precedence over policies that can. */
function combined(tasks: ReturnType<typeof stageResult>, policies: ReturnType<typeof policyResult>) {
  if (!tasks || !policies) return undefined
  const messages = [tasks, policies].filter(({ status }) => status !== 'passed')
  const shown = messages.length === 0 ? [tasks, policies] : messages
  const message = shown.flatMap((result) => result.message ?? []).join('; ') || null
  return { status: tasks.status === 'passed' ? policies.status : tasks.status, message }
}

type InProject = { id: string; organization_id: string; project_id: string }
export type PlannedStages = { stages: Stage[]; hasPolicies: boolean }

/** The stages with an enabled task or policies. They are read with the next statement; call the returned function after that. */
export async function readPlannedStages(ctx: Pick<Ctx, 'db'>, workspace: InProject) {
  const readTasks = await readEffectiveTasks(ctx, workspace)
  const readPolicies = await readEffectivePolicySets(ctx, workspace)
  return async (): Promise<PlannedStages> => {
    const tasks = await readTasks()
    const hasPolicies = (await readPolicies()).length > 0
    const isPlanned = (name: Stage) =>
      (name === POLICY_STAGE && hasPolicies) || tasks.some((task) => task.stages.some(({ stage }) => stage === name))
    return { stages: STAGES.filter(isPlanned), hasPolicies }
  }
}

/** Policies need the plan, and may stop the run before it is approved. */
const POLICY_STAGE = 'post_plan' satisfies Stage

type NewRun = { id: string; workspace_id: string; organization_id: string }

export async function createStages(ctx: TransactionCtx, run: NewRun, { stages, hasPolicies }: PlannedStages) {
  const now = ctx.now()
  const rows = stages.map((stage) => ({
    id: ctx.newId('ts'),
    run_id: run.id,
    stage,
    position: STAGES.indexOf(stage),
    status_timestamps: { pending: now.toISOString() },
    created_at: now,
    updated_at: now,
  }))
  await store.insertStages(ctx.db, rows)
  const tasks = await listEffectiveTasks(ctx, { id: run.workspace_id, organization_id: run.organization_id })
  await createResults(ctx, run.id, { tasks, stages: new Map(rows.map((row) => [row.stage, row])) })
  const stage = hasPolicies ? rows.find((row) => row.stage === POLICY_STAGE) : undefined
  if (stage) await createEvaluation(ctx, run.id, stage.id)
}

/** Starts a stage; its requests are sent after the commit. Without open tasks returns the change that its end causes. */
export async function startStage(ctx: TransactionCtx, run: { id: string }, name: Stage): Promise<Change | undefined> {
  const stage = await store.beginStage(ctx.db, { runId: run.id, name, now: ctx.now() })
  if (!stage) return undefined
  const hasTasks = await startResults(ctx, stage.id)
  if (stage.has_policies) await startEvaluation(ctx, stage.id)
  return hasTasks || stage.has_policies ? undefined : settleStage(ctx, stage.id)
}

export async function readStageStatuses(ctx: TransactionCtx, runId: string): Promise<RunConditions['stages']> {
  const rows = await store.listStatuses(ctx.db, runId)
  return Object.fromEntries(rows.map((row) => [row.stage, row.deferred_until === null ? row.status : 'deferred']))
}

/** Ends a stage and returns the change of its run; undefined if a result is open or deferred, or it has ended. The workspace is locked. */
export async function settleStage(ctx: TransactionCtx, stageId: string): Promise<Change | undefined> {
  const readEvaluations = await readWithNext(ctx.db, [selectEvaluationStates(ctx.db, stageId)])
  const results = await listResults(ctx.db, [stageId])
  const [[evaluation]] = await readEvaluations()
  const result = combined(stageResult(results), policyResult(evaluation))
  if (!result) return undefined
  const ended = await store.endStage(ctx.db, stageId, { ...result, now: ctx.now() })
  if (!ended) return undefined
  // An applied run cannot be stopped.
  const stops = (result.status === 'failed' || result.status === 'errored') && ended.stage !== 'post_apply'
  if (!stops) return {}

  const until = ended.stage === 'pre_plan' ? undefined : deferredUntil(ended.started_at, ctx.now(), RESULT_DEFERRAL_MS)
  if (until === undefined) return { run: { error: result.message } }
  await store.deferResult(ctx.db, stageId, until)
  await announceRuns(ctx, [ended.run_id])
  await ctx.jobs.enqueue(ctx.db, endDeferralJob, { runId: ended.run_id }, { startAfter: until })
  return undefined
}

export async function cancelStages(ctx: TransactionCtx, run: EndedRun) {
  await store.cancelStages(ctx.db, run.id, ctx.now())
  await cancelResults(ctx, run)
  await cancelEvaluations(ctx, run.id)
}
