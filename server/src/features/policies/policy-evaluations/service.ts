import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { announce, runNotice } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { domainEvent, raise } from '../../../events.ts'
import { reaction, scheduledJob } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import type { PolicyWork } from '../policy-requests/policy-request.ts'
import {
  type PoliciesReported,
  checkPolicyRequestLater,
  policiesReported,
  queuePolicyRequest,
} from '../policy-requests/service.ts'
import { deletePolicyRequest } from '../policy-requests/store.ts'
import { type SetOutcome, endOf, outcomesOf } from './outcome.ts'
import * as store from './store.ts'

/** Collects the work of a started evaluation; the handler knows plans. It has time for retries: what it reads may be on another host. */
export const prepareEvaluationJob = jobKind('policy-evaluations.prepare', z.object({ id: z.string() }), {
  concurrency: 4,
})

/** The evaluation of a stage has ended. Raised with the run's workspace locked. */
export const evaluationEnded = domainEvent<{ runId: string; stageId: string }>('policy-evaluation.ended')

/** Creates the pending evaluation of a new run's stage. */
export async function createEvaluation(ctx: TransactionCtx, runId: string, stageId: string) {
  const now = ctx.now()
  await store.insertEvaluation(ctx.db, {
    id: ctx.newId('poleval'),
    task_stage_id: stageId,
    run_id: runId,
    status: 'pending',
    status_timestamps: JSON.stringify({ pending: now.toISOString() }),
    created_at: now,
    updated_at: now,
  })
}

/** Starts the evaluation of a stage, after the transaction. */
export async function startEvaluation(ctx: TransactionCtx, stageId: string) {
  const started = await store.beginEvaluation(ctx.db, stageId, ctx.now())
  if (started) await ctx.jobs.enqueue(ctx.db, prepareEvaluationJob, { id: started.id })
}

export type StartedEvaluation = NonNullable<Awaited<ReturnType<typeof store.findStarted>>>

/** Queues the policies of a started evaluation for the agents of its run; without any it passes. */
export async function queueEvaluation(ctx: Ctx, { id, agent_pool_id: poolId }: StartedEvaluation, work: PolicyWork) {
  await transact(ctx, async (ctx) => {
    const evaluation = await store.lockRunning(ctx.db, id)
    if (!evaluation) return
    if (work.sets.length === 0) return endEvaluation(ctx, evaluation, { outcomes: [], toolVersion: null })
    await queuePolicyRequest(ctx, { poolId, evaluationId: id, work })
    announce(ctx, noticeOf(evaluation))
  })
}

/** Ends a started evaluation that cannot be queued. */
export async function failEvaluation(
  ctx: Ctx,
  { id }: StartedEvaluation,
  work: Pick<PolicyWork, 'sets'>,
  error: string,
) {
  await transact(ctx, async (ctx) => {
    const evaluation = await store.lockRunning(ctx.db, id)
    if (evaluation) await endEvaluation(ctx, evaluation, { outcomes: outcomesOf(work, { error }), toolVersion: null })
  })
}

type Reported = Omit<PoliciesReported, 'evaluationId'> & { evaluationId: string }

async function receiveReport(ctx: TransactionCtx, { requestId, lease, evaluationId, work, report }: Reported) {
  const evaluation = await store.lockRunning(ctx.db, evaluationId)
  if (!(await deletePolicyRequest(ctx.db, requestId, lease)) || !evaluation) return
  const toolVersion = 'error' in report ? null : report.opaVersion
  await endEvaluation(ctx, evaluation, { outcomes: outcomesOf(work, report), toolVersion })
}

type Running = NonNullable<Awaited<ReturnType<typeof store.lockRunning>>>
type End = { outcomes: readonly SetOutcome[]; toolVersion: string | null }

async function endEvaluation(ctx: TransactionCtx, evaluation: Running, { outcomes, toolVersion }: End) {
  const { id, run_id: runId, task_stage_id: stageId } = evaluation
  const kept = await store.lockSources(ctx.db, {
    setIds: outcomes.map(({ set }) => set.id),
    versionIds: outcomes.flatMap(({ set }) => set.versionId ?? []),
  })
  const keptId = (id: string | null) => (id !== null && kept.has(id) ? id : null)
  const rows = outcomes.map(({ set, outcomes: policies, error, ...counts }, position) => ({
    id: ctx.newId('psout'),
    policy_evaluation_id: id,
    position,
    policy_set_id: keptId(set.id),
    policy_set_version_id: keptId(set.versionId),
    policy_set_name: set.name,
    policy_set_description: set.description,
    overridable: set.overridable,
    commit_sha: set.commit?.sha ?? null,
    commit_url: set.commit?.url ?? null,
    outcomes: policies,
    error,
    ...counts,
  }))
  await store.insertOutcomes(ctx.db, rows)
  const end = endOf(outcomes, { planOnly: evaluation.plan_only, toolVersion })
  await store.endEvaluation(ctx.db, id, { end, now: ctx.now() })
  announce(ctx, noticeOf(evaluation))
  await raise(ctx, evaluationEnded, { runId, stageId })
}

function noticeOf({ run_id: id, ...run }: Running) {
  return runNotice({ ...run, id })
}

/** Ends the evaluations of an ended run; agents drop them. */
export async function cancelEvaluations(ctx: TransactionCtx, runId: string) {
  await store.cancelEvaluations(ctx.db, runId, ctx.now())
}

/** Records that the caller overrides the failed evaluation of a stage. */
export async function overrideEvaluation(ctx: TransactionCtx, stageId: string, comment: string | undefined) {
  const override = { userId: actorUserId(ctx.actor), comment: comment ?? null, now: ctx.now() }
  await store.overrideEvaluation(ctx.db, stageId, override)
}

/** Age at which a running evaluation has had time for all attempts of its jobs, in ms. */
const STALLED_MS = 3_600_000

/** Continues evaluations whose job is gone, for instance because its retries ended: their runs wait. */
export async function resumeEvaluations(ctx: Ctx) {
  const stalled = await store.listRunningSince(ctx.db, new Date(ctx.now().getTime() - STALLED_MS))
  await transact(ctx, async (ctx) => {
    for (const { id, request_id: requestId } of stalled) {
      if (requestId === null) await ctx.jobs.enqueue(ctx.db, prepareEvaluationJob, { id })
      else await checkPolicyRequestLater(ctx, requestId)
    }
  })
}

export const policyEvaluationJobs = [scheduledJob('policy-evaluations.resume', '47 * * * *', resumeEvaluations)]

export const policyEvaluationReactions = [
  reaction(policiesReported, async (ctx, { evaluationId, ...reported }) => {
    if (evaluationId !== null) await receiveReport(ctx, { evaluationId, ...reported })
  }),
]
