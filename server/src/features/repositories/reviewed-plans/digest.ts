import type { Ctx } from '../../../app.ts'
import { BlobTooLargeError } from '../../../blobs/errors.ts'
import { concurrencyLimit } from '../../../concurrency-limit.ts'
import { transact } from '../../../db/db.ts'
import { unavailable } from '../../../errors.ts'
import { domainEvent, raise } from '../../../events.ts'
import { artifactKey, ifStored } from '../../runs/plans/artifact.ts'
import * as store from './store.ts'

/** The changes of a run's plan are known; raised in the transaction. */
export const planDigested = domainEvent<{ runId: string }>('plan.digested')

/** Maximum size of the JSON of a plan, in bytes. */
const MAX_PLAN_BYTES = 256 * 1024 * 1024
/** The agent of a plan that owes its JSON for longer than this, in ms, is not waited for. */
const PROMPT_MS = 10 * 60_000
const RETRY_MS = 2000
/** For memory: plans whose JSON is read at the same time. */
const CONCURRENT_PLANS = 2
const limited = concurrencyLimit(CONCURRENT_PLANS)

/** Stores the changes of a finished plan. Throws `unavailable` if its JSON has not arrived yet. */
export async function digestPlan(ctx: Ctx, run: store.PlannedRun) {
  if (run.is_digested) return
  const digest = await limited(async () => readChanges(ctx, run))
  await transact(ctx, async (ctx) => {
    if (await store.insertDigest(ctx.db, run.id, digest, ctx.now())) await raise(ctx, planDigested, { runId: run.id })
  })
}

async function readChanges(ctx: Ctx, run: store.PlannedRun): Promise<store.PlanDigest> {
  const { documents_pending_since: since, documents_error: lost } = run
  if (since !== null && ctx.now().getTime() - since.getTime() < PROMPT_MS)
    throw unavailable(`the JSON of the plan of ${run.id} has not arrived yet`, RETRY_MS)
  if (lost !== null || since !== null || run.job_id === null) return unknown('its JSON has been lost')
  try {
    const json = await ifStored(
      ctx.blobs.read(artifactKey(run.id, run.job_id, 'plan-json'), { maxBytes: MAX_PLAN_BYTES }),
    )
    if (!json) return unknown('it has no JSON')
    const outcome = await ctx.workers.planChanges(json, ctx.secrets.digest(run.workspace_id, 'plan-digest'))
    return outcome.ok ? { changes: outcome.value, problem: null } : unknown(outcome.reason)
  } catch (error) {
    if (error instanceof BlobTooLargeError) return unknown('its JSON is too large')
    throw error
  }
}

const unknown = (problem: string) => ({ changes: null, problem })
