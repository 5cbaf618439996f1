import type { FinishJob } from '@groundstate/contract/agent'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { lockRun } from '../runs/locked-run-store.ts'
import { recheck } from '../runs/recheck-job.ts'
import { type Change, mayRetry } from '../runs/transition.ts'
import { applyChange } from '../runs/advance.ts'
import type { Job } from './job.ts'
import { insertNotice } from './logs.ts'
import type { LockedRun } from '../runs/locked-run.ts'

type JobKey = Pick<Job, 'id' | 'run_id' | 'workspace_id'>

/**
 * A failed apply of an auto-applied run is told this much later, in ms, unless its log is opened before: a command line
 * that finds the run errored before it has opened the log never shows it.
 */
const HOLD_MS = 2000

/** Records what became of a job, and takes the run on. Does nothing when the job has ended already. */
export async function finishJob(ctx: Ctx, job: Job, body: FinishJob) {
  await withRun(ctx, job, async (ctx, held) => {
    if (body.message !== undefined) await insertNotice(ctx, held[job.kind].id, body.message, { unlessTold: true })
    const change = job.kind === 'plan' ? planEnd(body) : applyEnd(ctx, held, body)
    await applyChange(ctx, held, change)
    const heldUntil = change.apply?.held_until
    if (heldUntil instanceof Date)
      await ctx.jobs.enqueue(ctx.db, recheck, { runId: job.run_id }, { startAfter: heldUntil })
  })
}

function planEnd(body: FinishJob): Change {
  return {
    job: body.status,
    run: { ...resultColumns(body), has_changes: body.hasChanges ?? false },
    plan: {
      ...countColumns(body),
      has_changes: body.hasChanges ?? false,
      generated_configuration: body.generatedConfiguration ?? false,
    },
  }
}

function applyEnd(ctx: Ctx, { run, apply }: LockedRun, body: FinishJob): Change {
  const holds = body.status === 'errored' && run.auto_apply && apply.log_opened_at === null
  return {
    job: holds ? 'deferred' : body.status,
    run: resultColumns(body),
    apply: {
      ...countColumns(body),
      ...(holds && { held_until: new Date(ctx.now().getTime() + HOLD_MS) }),
    },
    endsJob: true,
  }
}

function resultColumns({ message, status, engineVersion }: FinishJob) {
  return {
    ...(engineVersion !== undefined && { engine_version: engineVersion }),
    ...(message !== undefined && status === 'errored' && { error: message }),
  }
}

function countColumns({ counts }: FinishJob) {
  if (!counts) return {}
  return {
    resource_additions: counts.additions,
    resource_changes: counts.changes,
    resource_destructions: counts.destructions,
    resource_imports: counts.imports,
  }
}

/** An agent hands a job back that it has not begun: it is queued again, and that was no attempt. */
export async function releaseJob(ctx: Ctx, job: JobKey) {
  await withRun(ctx, job, async (ctx, held) => {
    await applyChange(ctx, held, { job: 'retry', isHandedBack: true })
  })
}

/**
 * The lease of a job is lost. A plan is made again, a few times; an apply is not repeated, since nobody knows how far it
 * came: the run is errored, and what state reached the server stays.
 */
export async function loseJob(ctx: Ctx, job: JobKey) {
  await withRun(ctx, job, async (ctx, held) => {
    const row = await ctx.db
      .selectFrom('agent_jobs')
      .select(['kind', 'attempt', 'agent_name', 'lease_expires_at'])
      .where('id', '=', job.id)
      .executeTakeFirst()
    // A heartbeat may have come after all.
    if (!row?.lease_expires_at || row.lease_expires_at > ctx.now()) return
    const agent = `the agent ${row.agent_name ?? ''}`.trim()
    if (mayRetry(row)) {
      await insertNotice(ctx, held.plan.id, `${agent} gave no sign of life any more: the plan starts again on another`)
      await applyChange(ctx, held, { job: 'retry' })
      return
    }
    const error =
      row.kind === 'plan'
        ? `${agent} gave no sign of life any more, as ${row.attempt - 1} before it: see whether agents are killed, for want of memory for example`
        : `${agent} gave no sign of life any more while it applied: nobody knows how far it came. The state that reached ` +
          'the server was kept. See whether the engine still runs there, compare the state with what really exists, and ' +
          'import or remove what differs before the next apply'
    await insertNotice(ctx, held[row.kind].id, error)
    await applyChange(ctx, held, { job: 'lost', run: { error }, events: [{ action: 'errored', description: error }] })
  })
}

async function withRun(ctx: Ctx, job: JobKey, work: (ctx: TransactionCtx, held: LockedRun) => Promise<void>) {
  await transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const held = await lockRun(ctx.db, { id: job.run_id, workspaceId: job.workspace_id })
    if (held?.job?.id === job.id && held.job.status === 'running') await work(ctx, held)
  })
}
