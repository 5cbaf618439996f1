import { RUN_STATUS_TABLE, type RunStatus } from '@groundstate/contract/run-status'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { announce, runNotice, workspaceNotice } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { raise } from '../../../events.ts'
import { discardPending, settleStates } from '../../states/state-versions/service.ts'
import { announceAgentOf, commitRunChanged, runAdvanced, runApplied } from './audit.ts'
import { type LockedRun, type LockedWorkspace, lockRun, lockRunWorkspace } from './locked-run-store.ts'
import { measureTransition } from './measure.ts'
import { runEventRow, runEventsInsert } from './run-event-store.ts'
import { releaseResult } from './stage-store.ts'
import { cancelStages, readStageStatuses, startStage } from './stages.ts'
import * as store from './transition-store.ts'
import { type Change, type Transition, currentRunColumns, transitionOf } from './transition.ts'

/*
 * A change is saved together with the statuses that the run passes through because of it; then its effects are started. An effect
 * may cause the next change: a stage without open tasks ends, or the workspace is free for the next run. All of this is one
 * transaction, which locks the workspace.
 */

type Pending = { locked: LockedRun; change: Change }
/** A saved transition whose effects have not been started. */
export type Saved = { locked: Pick<LockedRun, 'run' | 'workspace' | 'isObserved'>; transition: Transition }

/** Saves a change and advances the run as far as possible. Returns the status after the change. */
export async function applyChange(ctx: TransactionCtx, locked: LockedRun, change: Change = {}): Promise<RunStatus> {
  const saved = await save(ctx, { locked, change })
  await startEffects(ctx, saved)
  return saved.transition.status
}

/** Saves a change and advances the run as far as possible; undefined for a deleted run. */
export async function advanceRun(ctx: Ctx, runId: string, change: Change = {}): Promise<RunStatus | undefined> {
  return transact(ctx, async (ctx) => {
    const locked = await lockRun(ctx.db, { id: runId })
    return locked && applyChange(ctx, locked, change)
  })
}

/** Ends a run whose failure is still deferred. The job decides when, by the database's clock: this server's clock may be behind. */
export async function endDeferral(ctx: Ctx, runId: string) {
  await transact(ctx, async (ctx) => {
    const locked = await lockRun(ctx.db, { id: runId })
    if (!locked) return
    const result = locked.run.stages.length === 0 ? undefined : await releaseResult(ctx.db, runId)
    if (result) await applyChange(ctx, locked, { run: { error: result.message } })
    else if (locked.apply.deferred_until !== null) await applyChange(ctx, locked, { job: 'errored' })
  })
}

/** Starts the next run of a workspace, in the transaction that made the workspace free. */
export async function advanceQueue(ctx: TransactionCtx, workspaceId: string) {
  const workspace = await lockRunWorkspace(ctx.db, workspaceId)
  const next = workspace && (await findNext(ctx, workspace))
  if (next) await applyChange(ctx, next)
}

/** Starts the effects of a transition and saves the changes that they cause, until no run advances further. */
export async function startEffects(ctx: TransactionCtx, saved: Saved) {
  let current: Saved | undefined = saved
  while (current) {
    const pending: Pending | undefined = await startEffectsOf(ctx, current)
    current = pending && (await save(ctx, pending))
  }
}

async function save(ctx: TransactionCtx, { locked, change }: Pending): Promise<Saved> {
  const { id, stages } = locked.run
  const statuses = stages.length === 0 ? {} : await readStageStatuses(ctx, id)
  const transition = transitionOf(ctx, locked, change, statuses)
  const { events = [], writes = [] } = change
  const rows = events.map((event) => runEventRow(ctx, id, event))
  const others = rows.length === 0 ? writes : [...writes, runEventsInsert(ctx.db, rows)]
  const freed = await store.saveTransition(ctx.db, locked, { transition, others, now: ctx.now() })
  ctx.signals.publish(ctx.db, transition.topics)
  if (freed) ctx.signals.publish(ctx.db, freed)
  if (transition.jobTopic !== undefined) ctx.signals.publishToOne(ctx.db, transition.jobTopic)
  announceTransition(ctx, locked, transition)
  measureTransition(ctx, locked.run, transition)
  return { locked, transition }
}

function announceTransition(
  ctx: TransactionCtx,
  { run, workspace, job }: LockedRun,
  { effects, ended, status, workspace: change }: Transition,
) {
  announce(ctx, runNotice(run))
  const isCurrent = workspace.current_run_id === run.id
  const isRegrouped = isCurrent && RUN_STATUS_TABLE[status].group !== RUN_STATUS_TABLE[run.status].group
  // Any run's end changes the workspace's KPIs.
  if (change || isRegrouped || ended) announce(ctx, workspaceNotice(workspace))
  if (job?.agent_id && effects.endsJob) announceAgentOf(ctx, run, job.agent_id)
}

/** Returns the next change, of this run or of the next one in the queue. */
async function startEffectsOf(ctx: TransactionCtx, { locked, transition }: Saved): Promise<Pending | undefined> {
  const { run } = locked
  const { effects, path, status } = transition
  const workspace = { ...locked.workspace, ...transition.workspace }
  if (run.ingress_attributes_id !== null)
    await raise(ctx, commitRunChanged, { run, hasPlanned: effects.plan === 'finished' })
  if (path.length > 0 && locked.isObserved) await raise(ctx, runAdvanced, { run, path })
  if (effects.startStage !== undefined) {
    const change = await startStage(ctx, run, effects.startStage)
    const current = change && (await lockRun(ctx.db, { id: run.id, workspaceId: run.workspace_id }))
    if (current) return { locked: current, change }
  }
  if (effects.cancelsStages && run.stages.length > 0) await cancelStages(ctx, { id: run.id, status })
  // The engine's states depend on the lock of its run.
  if (effects.releases) await settleStates(ctx, locked.workspace)
  if (effects.occupies && !run.occupies) await discardPending(ctx, locked.workspace)
  if (effects.applied) await raise(ctx, runApplied, run)
  const next = await findNext(ctx, workspace)
  return next && { locked: next, change: {} }
}

/** While a user or team holds the lock, the first run in the queue only becomes current: the CLI then reports that it waits for the lock. */
async function findNext(ctx: TransactionCtx, workspace: LockedWorkspace): Promise<LockedRun | undefined> {
  if (workspace.active_run_id !== null || workspace.waiting_runs === 0) return undefined
  const first = await store.findFirstInQueue(ctx.db, workspace.id)
  if (!first) return undefined
  if (workspace.locked_by_type === null) return lockRun(ctx.db, { id: first.id, workspaceId: workspace.id })
  if (first.id !== workspace.current_run_id) {
    await store.updateCurrentRun(ctx.db, workspace.id, currentRunColumns(first))
    announce(ctx, workspaceNotice(workspace))
  }
  return undefined
}
