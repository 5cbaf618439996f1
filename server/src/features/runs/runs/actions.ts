import { isEnded } from '@groundstate/contract/run-status'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { conflict, forbidden, notFound } from '../../../errors.ts'
import type { Run } from './access.ts'
import { applyChange } from './advance.ts'
import { runAudit } from './audit.ts'
import { type LockedJob, type LockedRun, lockRun } from './locked-run-store.ts'
import { isCancelable, isConfirmable, isDiscardable, isForceCancelable, isForcible } from './machine.ts'
import { insertCommentRow } from './run-event-store.ts'
import { listRunsBefore, updateJobCommand } from './transition-store.ts'
import type { Change } from './transition.ts'

/** User actions: their names as run events and in the audit trail. */
const AUDIT_ACTIONS = {
  confirmed: 'apply',
  discarded: 'discard',
  canceled: 'cancel',
  force_canceled: 'force_cancel',
  force_executed: 'force_execute',
} as const satisfies Record<string, string>

type RunAction = { action: keyof typeof AUDIT_ACTIONS; comment: string | undefined }

/** Checks that the action is possible and returns the change; undefined if it only changes other runs. */
type Decide = (ctx: TransactionCtx, locked: LockedRun) => Promise<Omit<Change, 'events'> | undefined>

/** Executes a user's action and records its comment, run event and audit event, in one transaction. */
async function act(ctx: Ctx, run: Run, { action, comment }: RunAction, decide: Decide) {
  await transact(ctx, async (ctx) => {
    const key = { id: run.id, workspaceId: run.workspace_id }
    const locked = await lockRun(ctx.db, key)
    if (!locked) throw notFound('run')
    const change = await decide(ctx, locked)
    const commentId = comment === undefined ? null : await insertComment(ctx, run.id, comment)
    // Changes of other runs may have advanced this one.
    const current = change ? locked : await lockRun(ctx.db, key)
    if (current) await applyChange(ctx, current, { ...change, events: [{ action, description: null, commentId }] })
    await recordAudit(ctx, runAudit(run, AUDIT_ACTIONS[action]))
  })
}

/** Confirms a plan. Throws `conflict` unless the run is waiting for confirmation. */
export async function applyRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'confirmed', comment }, async (ctx, { run, workspace }) => {
    if (!isConfirmable(run)) throw conflict(`the run is ${run.status}, ${confirmHint(run)}`)
    if (run.save_plan && run.base_state_version_id !== workspace.current_state_version_id)
      throw conflict('the plan is stale: the state has changed since it was created, create a new plan')
    return { run: { confirmed_at: ctx.now(), confirmed_by_user_id: actorUserId(ctx.actor) } }
  })
}

function confirmHint(run: Pick<Run, 'status' | 'plan_only'>) {
  if (run.plan_only) return 'and plan-only: it cannot be applied'
  if (run.status === 'planned_and_finished') return 'its plan has no changes to apply'
  return isEnded(run.status) ? 'it has ended' : 'it can be applied once its plan waits for confirmation'
}

/** Cancels a run: immediately if no agent executes it, otherwise by interrupting the engine for a graceful stop. */
export async function cancelRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'canceled', comment }, async (ctx, { run, job }) => {
    if (!isCancelable(run)) {
      if (run.cancel_requested_at !== null && !isEnded(run.status))
        throw conflict(`the run is being canceled already, since ${run.cancel_requested_at.toISOString()}`)
      throw conflict(`the run is ${run.status}, it can no longer be canceled`)
    }
    await interruptJob(ctx, job)
    return { requested: 'cancel', run: { ...cancelColumns(ctx), canceled_by_user_id: actorUserId(ctx.actor) } }
  })
}

/** Ends a run that did not stop after a cancel: the engine is killed without cleanup. */
export async function forceCancelRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'force_canceled', comment }, async (ctx, { run }) => {
    if (isEnded(run.status)) throw conflict(`the run is ${run.status}, it has ended`)
    if (!isForcible(run.status))
      throw conflict(`the run is ${run.status}, there is no running job to force-cancel: cancel or discard it`)
    if (run.cancel_requested_at === null) throw conflict('the run must be canceled first, and be given time to stop')
    if (!isForceCancelable(run, ctx.now()))
      throw conflict(`a forced cancel is possible from ${run.force_cancel_available_at?.toISOString()} on`)
    return { requested: 'force-cancel' }
  })
}

/** Requests the agent of a running job to interrupt the engine. */
async function interruptJob(ctx: TransactionCtx, job: LockedJob | undefined) {
  if (job?.status !== 'running') return
  await updateJobCommand(ctx.db, job.id, 'cancel')
  ctx.signals.publish(ctx.db, `job:${job.id}`)
}

function cancelColumns(ctx: Pick<Ctx, 'now' | 'config'>) {
  const now = ctx.now()
  return { cancel_requested_at: now, force_cancel_available_at: new Date(now.getTime() + ctx.config.cancelGrace) }
}

/** Ends a run that is queued or waits for confirmation. */
export async function discardRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'discarded', comment }, async (_, { run }) => {
    if (!isDiscardable(run)) {
      const hint = isCancelable(run) ? 'cancel it instead' : 'there is nothing to discard'
      throw conflict(`the run is ${run.status}: ${hint}`)
    }
    return { requested: 'discard' }
  })
}

/** Discards the runs queued before a pending run, and discards or cancels the active one unless it is applying. */
export async function forceExecuteRun(ctx: Ctx, run: Run, comment: string | undefined) {
  return act(ctx, run, { action: 'force_executed', comment }, async (ctx, { run, workspace }) => {
    if (isEnded(run.status)) throw conflict(`the run is ${run.status}, it has ended`)
    if (run.status !== 'pending' || !run.waits)
      throw forbidden(`the run is ${run.status}: only a pending run in the queue can be force-executed`)
    if (workspace.locked_by_type !== null && workspace.locked_by_type !== 'run')
      throw conflict('the workspace is locked: it must be unlocked before the run can start')
    // The active run comes last: its end starts the first run in the queue, which must be this one.
    for (const id of await listRunsBefore(ctx.db, run)) await endForRun(ctx, id, run)
    return undefined
  })
}

/** Cancels a run for a reason other than a person's request, unless it has ended or is being canceled. */
export async function cancelForServer(ctx: TransactionCtx, id: string, description: string) {
  const locked = await lockRun(ctx.db, { id })
  if (!locked || !isCancelable(locked.run)) return
  await cancelLocked(ctx, locked, description)
  await recordAudit(ctx, runAudit(locked.run, 'cancel'))
}

async function cancelLocked(ctx: TransactionCtx, locked: LockedRun, description: string) {
  await interruptJob(ctx, locked.job)
  const events = [{ action: 'canceled', description }]
  await applyChange(ctx, locked, { requested: 'cancel', run: cancelColumns(ctx), events })
}

async function endForRun(ctx: TransactionCtx, id: string, favoured: LockedRun['run']) {
  const locked = await lockRun(ctx.db, { id, workspaceId: favoured.workspace_id })
  if (!locked || isEnded(locked.run.status)) return
  const { run } = locked
  const description = `to let ${favoured.id} run first`
  if (isDiscardable(run)) {
    await applyChange(ctx, locked, { requested: 'discard', events: [{ action: 'discarded', description }] })
    await recordAudit(ctx, runAudit({ ...run, favoured: favoured.id }, 'discard'))
  } else if (run.confirmed_at !== null || run.status === 'applying') {
    throw conflict(`${id} is ${run.status}: wait until it has ended, or cancel it`)
  } else if (isCancelable(run)) {
    await cancelLocked(ctx, locked, description)
    await recordAudit(ctx, runAudit({ ...run, favoured: favoured.id }, 'cancel'))
  }
}

/** Inserts a comment on a run that the caller has authorised; returns its id. */
export async function insertComment(ctx: TransactionCtx, runId: string, body: string) {
  const id = ctx.newId('wsc')
  const author = { created_by_user_id: actorUserId(ctx.actor), created_at: ctx.now() }
  await insertCommentRow(ctx.db, { id, run_id: runId, body, ...author })
  return id
}
