import type { Ctx, TransactionCtx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, notFound } from '../../../errors.ts'
import { insertComment } from './comments.ts'
import { type HeldRun, holdRun } from './held.ts'
import type { Change } from './outcome.ts'
import { requireRun, type Run } from './service.ts'
import { isCancelable, isConfirmable, isDiscardable, isEnded, isForceCancelable, isForcible } from './status.ts'
import { moveRun } from './transitions.ts'
import { recordAudit } from '../../../audit/record.ts'

/** Confirms a plan, so that it is applied. Throws `conflict` when the run does not wait for that. */
export async function applyRun(ctx: Ctx, id: string, comment: string | undefined) {
  const run = await requireRun(ctx, id, 'runs:apply')
  return act(ctx, run, { action: 'confirmed', comment }, async (ctx, { run: held, workspace }) => {
    if (!isConfirmable(held)) throw conflict(`the run is ${held.status}, ${confirmHint(held)}`)
    if (held.save_plan && held.base_state_version_id !== workspace.current_state_version_id)
      throw conflict('the plan is stale: the state has moved on since it was made, make a new plan')
    return { run: { confirmed_at: ctx.now(), confirmed_by_user_id: actorUserId(ctx.actor) } }
  })
}

function confirmHint(run: Pick<Run, 'status' | 'plan_only' | 'has_changes'>) {
  if (run.plan_only) return 'and plans only: it can not be applied'
  if (run.status === 'planned_and_finished') return 'its plan has no changes to apply'
  return isEnded(run.status) ? 'it has ended' : 'it can be applied once its plan waits for confirmation'
}

/** Ends a run that waits for a confirmation, or for its turn. */
export async function discardRun(ctx: Ctx, id: string, comment: string | undefined) {
  const run = await requireRunToEnd(ctx, id)
  return act(ctx, run, { action: 'discarded', comment }, async (_, { run: held }) => {
    if (!isDiscardable(held)) {
      const hint = isCancelable(held) ? 'cancel it instead' : 'there is nothing to discard'
      throw conflict(`the run is ${held.status}: ${hint}`)
    }
    return { wish: 'discard' }
  })
}

/** Ends a run: at once where nothing is at work, else by interrupting the engine, which then winds up. */
export async function cancelRun(ctx: Ctx, id: string, comment: string | undefined) {
  const run = await requireRunToEnd(ctx, id)
  return act(ctx, run, { action: 'canceled', comment }, async (ctx, { run: held, job }) => {
    if (!isCancelable(held)) {
      if (held.cancel_requested_at !== null && !isEnded(held.status))
        throw conflict(`the run is being canceled already, since ${held.cancel_requested_at.toISOString()}`)
      throw conflict(`the run is ${held.status}, it can not be canceled any more`)
    }
    const now = ctx.now()
    if (job?.status === 'running') await commandJob(ctx, job.id, 'cancel')
    return {
      wish: 'cancel',
      run: {
        cancel_requested_at: now,
        canceled_by_user_id: actorUserId(ctx.actor),
        force_cancel_available_at: new Date(now.getTime() + ctx.config.cancelGrace),
      },
    }
  })
}

/** Ends a run that did not heed a cancel: its engine is killed, and whatever it was doing is left as it is. */
export async function forceCancelRun(ctx: Ctx, id: string, comment: string | undefined) {
  const run = await requireRun(ctx, id, 'runs:apply')
  if (!run.can.has('force-unlock'))
    throw forbidden(`a forced cancel needs admin access to the workspace ${run.workspace_name}`)
  return act(ctx, run, { action: 'force_canceled', comment }, async (ctx, { run: held }) => {
    if (isEnded(held.status)) throw conflict(`the run is ${held.status}, it has ended`)
    if (!isForcible(held.status))
      throw conflict(
        `the run is ${held.status}, nothing is under way that has to be ended by force: cancel or discard it`,
      )
    if (held.cancel_requested_at === null)
      throw conflict('the run must be canceled first, and be given time to wind up')
    if (!isForceCancelable(held, ctx.now()))
      throw conflict(`a forced cancel is possible from ${held.force_cancel_available_at?.toISOString()} on`)
    return { wish: 'force-cancel' }
  })
}

/**
 * Makes a pending run the next one: whatever stands before it in its workspace is discarded, and what is at work there is
 * canceled. An apply is left to end by itself.
 */
export async function forceExecuteRun(ctx: Ctx, id: string, comment: string | undefined) {
  const run = await requireRun(ctx, id, 'runs:apply')
  return act(ctx, run, { action: 'force_executed', comment }, async (ctx, { run: held, workspace }) => {
    if (held.status !== 'pending' || !held.waits)
      throw forbidden(`the run is ${held.status}: only a pending run that waits for its turn can be force-executed`)
    if (workspace.locked_by_type !== null && workspace.locked_by_type !== 'run')
      throw conflict('the workspace is locked: it must be unlocked before the run can start')
    const ahead = await ctx.db
      .selectFrom('runs')
      .select('id')
      .where('workspace_id', '=', held.workspace_id)
      .where((eb) =>
        eb.or([eb('occupies', '=', true), eb.and([eb('waits', '=', true), eb('queue_order', '<', held.queue_order)])]),
      )
      .where('id', '<>', held.id)
      // The one that holds the workspace goes last, so that it is this run that gets its turn then.
      .orderBy('occupies')
      .orderBy('queue_order')
      .execute()
    for (const { id } of ahead) await stepAside(ctx, id, held)
    return undefined
  })
}

async function stepAside(ctx: TransactionCtx, id: string, favoured: HeldRun['run']) {
  const held = await holdRun(ctx.db, { id, workspaceId: favoured.workspace_id })
  if (!held || isEnded(held.run.status)) return
  const events = [{ action: 'discarded', description: `to let ${favoured.id} run first` }]
  if (isDiscardable(held.run)) {
    await moveRun(ctx, held, { wish: 'discard', events })
    await recordAction(ctx, { ...held.run, favoured: favoured.id }, 'discard')
  } else if (held.run.confirmed_at !== null || held.run.status === 'applying') {
    throw conflict(`${id} is ${held.run.status}: wait until it has ended, or cancel it`)
  } else if (isCancelable(held.run)) {
    if (held.job?.status === 'running') await commandJob(ctx, held.job.id, 'cancel')
    const now = ctx.now()
    const available = new Date(now.getTime() + ctx.config.cancelGrace)
    const run = { cancel_requested_at: now, force_cancel_available_at: available }
    await moveRun(ctx, held, { wish: 'cancel', run, events: [{ ...events[0], action: 'canceled' }] })
    await recordAction(ctx, { ...held.run, favoured: favoured.id }, 'cancel')
  }
}

/** Discarding and cancelling takes what applying does; a speculative plan can be ended by those who may make one. */
async function requireRunToEnd(ctx: Ctx, id: string) {
  const run = await requireRun(ctx, id, 'runs:plan')
  if (run.plan_only) return run
  return run.can.has('runs:apply') ? run : requireRun(ctx, id, 'runs:apply')
}

/** The verbs of the audit trail for the events of runs. */
const VERBS = {
  confirmed: 'apply',
  discarded: 'discard',
  canceled: 'cancel',
  force_canceled: 'force_cancel',
  force_executed: 'force_execute',
} as const satisfies Record<string, string>

type Act = (ctx: TransactionCtx, held: HeldRun) => Promise<Omit<Change, 'events'> | undefined>

async function act(ctx: Ctx, run: Run, event: { action: keyof typeof VERBS; comment: string | undefined }, work: Act) {
  await transact(ctx, async (ctx) => {
    const held = await holdRun(ctx.db, { id: run.id, workspaceId: run.workspace_id })
    if (!held) throw notFound('run')
    const change = await work(ctx, held)
    const commentId = event.comment === undefined ? null : await insertComment(ctx, run.id, event.comment)
    const events = [{ action: event.action, description: null, commentId }]
    // What the work itself moved may have moved this run too.
    const current = change ? held : await holdRun(ctx.db, { id: run.id, workspaceId: run.workspace_id })
    if (current) await moveRun(ctx, current, { ...change, events })
    await recordAction(ctx, run, VERBS[event.action])
  })
}

type Acted = Pick<Run, 'id' | 'organization_id' | 'workspace_id'> & { favoured?: string }

async function recordAction(ctx: TransactionCtx, run: Acted, action: string) {
  await recordAudit(ctx, {
    organizationId: run.organization_id,
    action,
    resource: { type: 'run', id: run.id },
    meta: { workspace: run.workspace_id, favoured: run.favoured },
  })
}

async function commandJob(ctx: TransactionCtx, jobId: string, command: 'cancel') {
  await ctx.db.updateTable('agent_jobs').set({ command }).where('id', '=', jobId).execute()
  await ctx.signals.publish(ctx.db, `job:${jobId}`)
}
