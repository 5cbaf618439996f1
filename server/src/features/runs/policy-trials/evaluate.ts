import type { PolicyOutcome } from '@groundstate/contract/policies'
import type { ReportPolicies } from '@groundstate/contract/policy-requests'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { endOf, outcomesOf } from '../../policies/policy-evaluations/outcome.ts'
import type { PolicyWork } from '../../policies/policy-requests/policy-request.ts'
import { type PoliciesReported, policiesReported, queuePolicyRequest } from '../../policies/policy-requests/service.ts'
import { deletePolicyRequest } from '../../policies/policy-requests/store.ts'
import { policyInput } from '../plans/policy-input.ts'
import { openRules } from './rules.ts'
import * as store from './store.ts'

/** Queues the next runs of a trial for agents, or ends it. Enqueued with each result, so a trial survives the death of any process. */
export const advanceTrialJob = jobKind('policy-trials.advance', z.object({ id: z.string() }), { concurrency: 2 })

/** Maximum number of requests of a trial at a time: agents evaluate those of runs first, but do not interrupt an evaluation. */
const MAX_REQUESTED = 4

async function advanceTrial(ctx: Ctx, id: string) {
  while (await advanceOnce(ctx, id));
}

/** Returns whether there may be more to queue. */
async function advanceOnce(ctx: Ctx, id: string): Promise<boolean> {
  const trial = await store.findRunning(ctx.db, id)
  if (!trial?.rules) return false
  const { opa, set } = openRules(ctx, { id, rules: trial.rules })
  const { organization_id: organizationId } = trial
  const { requested: before } = await store.countPending(ctx.db, id)
  const waiting = await store.listWaiting(ctx.db, id, Math.max(0, MAX_REQUESTED - before))
  const prepared = await Promise.all(waiting.map(async (run) => ({ id: run.id, request: await requestOf(ctx, run) })))
  return transact(ctx, async (ctx) => {
    if (!(await store.lockRunning(ctx.db, id))) return false
    // Another job may have queued or ended some of them.
    const open = new Set((await store.listWaiting(ctx.db, id, MAX_REQUESTED)).map((run) => run.id))
    let { requested } = await store.countPending(ctx.db, id)
    let failed = 0
    for (const { id: trialRunId, request } of prepared.filter((run) => open.has(run.id))) {
      if ('problem' in request) {
        await store.endTrialRun(ctx.db, trialRunId, { status: 'errored', error: request.problem })
        failed += 1
      } else if (requested < MAX_REQUESTED) {
        const { poolId, input } = request
        await queuePolicyRequest(ctx, { poolId, trialRunId, work: { organizationId, opa, sets: [set], ...input } })
        requested += 1
      }
    }
    if (failed > 0) await announceProgress(ctx, trial)
    await finishWithoutPending(ctx, trial)
    return failed > 0 || (waiting.length > 0 && open.size === 0)
  })
}

type WaitingRun = { run_id: string; agent_pool_id: string | null }

/** The pool whose agents evaluate a run, and their input; `problem` if they can't. */
async function requestOf(ctx: Ctx, { run_id: runId, agent_pool_id: poolId }: WaitingRun) {
  if (poolId === null) return { problem: 'the agent pool of the run was deleted' }
  const input = await policyInput(ctx, runId)
  return 'problem' in input ? input : { poolId, input }
}

type Trial = { id: string; organization_id: string }

async function announceProgress(ctx: TransactionCtx, { id, organization_id: organization }: Trial) {
  await store.touchTrial(ctx.db, id, ctx.now())
  announce(ctx, { organization, type: 'policy-trials', id })
}

async function finishWithoutPending(ctx: TransactionCtx, { id, organization_id: organization }: Trial) {
  const { pending } = await store.countPending(ctx.db, id)
  if (pending > 0) return
  await store.updateStatus(ctx.db, id, { from: ['running'], to: 'finished', now: ctx.now() })
  announce(ctx, { organization, type: 'policy-trials', id })
}

type Reported = Omit<PoliciesReported, 'trialRunId'> & { trialRunId: string }

async function receiveReport(ctx: TransactionCtx, { requestId, lease, trialRunId, work, report, untakenIn }: Reported) {
  const run = await store.findTrialRun(ctx.db, trialRunId)
  const trial = run && (await store.lockRunning(ctx.db, run.policy_trial_id))
  // A deletion of the run locks in this order, too.
  await store.lockTrialRun(ctx.db, trialRunId)
  if (!(await deletePolicyRequest(ctx.db, requestId, lease)) || !trial) return
  const error = 'error' in report ? report.error : null
  // The other requests in the pool are deleted by their own checks.
  if (error !== null && untakenIn !== undefined) await store.failPool(ctx.db, trial.id, { poolId: untakenIn, error })
  else await store.endTrialRun(ctx.db, trialRunId, endOfRun(work, report, { planOnly: run.plan_only }))
  await announceProgress(ctx, trial)
  await ctx.jobs.enqueue(ctx.db, advanceTrialJob, { id: trial.id })
}

const STATUSES = { passed: 'passed', failed: 'stopped', errored: 'errored' } as const

function endOfRun(work: PolicyWork, report: ReportPolicies, { planOnly }: { planOnly: boolean }): store.TrialRunEnd {
  const toolVersion = 'error' in report ? null : report.opaVersion
  const sets = outcomesOf(work, report)
  const { status, message, is_overridable, ...end } = endOf(sets, { planOnly, toolVersion })
  const outcomes = sets.flatMap((set) => set.outcomes.filter((one) => one.status !== 'passed'))
  return {
    ...end,
    status: status === 'passed' && message !== null ? 'warned' : STATUSES[status],
    overridable: is_overridable,
    error: 'error' in report ? report.error : null,
    outcomes: 'error' in report ? [] : shortened(outcomes),
  }
}

/** Maximum length of all outputs of a run that are kept, in characters: pages list many runs. */
const MAX_OUTPUT = 100_000

function shortened(outcomes: readonly PolicyOutcome[]): PolicyOutcome[] {
  let rest = MAX_OUTPUT
  return outcomes.map(({ output, omitted, ...outcome }) => {
    const kept = output.filter(({ print }) => {
      rest -= print.length
      return rest >= 0
    })
    return { ...outcome, output: kept, omitted: omitted + output.length - kept.length }
  })
}

export const evaluateTrialJobs = [
  jobHandler(advanceTrialJob, async (ctx, { id }) => advanceTrial({ ...ctx, actor: SYSTEM }, id)),
]

export const policyTrialReactions = [
  reaction(policiesReported, async (ctx, { trialRunId, ...reported }) => {
    if (trialRunId !== null) await receiveReport(ctx, { trialRunId, ...reported })
  }),
]
