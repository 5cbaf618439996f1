import { type OperationNodeSource, sql } from 'kysely'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { writeTogether } from '../../../db/together.ts'
import { publishing } from '../../../signals.ts'
import { promoteIntermediate } from '../../states/state-versions/service.ts'
import { type HeldRun, type HeldWorkspace, holdRun, holdWorkspace } from './held.ts'
import { type Change, type NewEvent, type Outcome, outcome } from './outcome.ts'
import { isEnded, type RunStatus } from './status.ts'
import { onRunApplied } from './triggers.ts'
import { cancelStages, stageStatuses, startStage } from '../task-stages/service.ts'

/**
 * Records a change and takes the run as far as it gets, with everything that follows: its phases, jobs and tokens, the
 * workspace's lock and the next run in line. The one way in which a run moves; this transaction holds its workspace.
 */
export async function moveRun(ctx: TransactionCtx, held: HeldRun, change: Change = {}): Promise<RunStatus> {
  const stages = held.run.stages.length === 0 ? {} : await stageStatuses(ctx, held.run.id)
  const moved = outcome(ctx, held, change, stages)
  await save(ctx, held, moved, change)
  await follow(ctx, held, moved)
  return moved.status
}

/**
 * Looks whether a run gets further, for whoever has recorded a new fact about it; `change` is recorded along with that.
 * Does nothing for a run that is gone.
 */
export async function advanceRun(ctx: Ctx, runId: string, change: Change = {}): Promise<RunStatus | undefined> {
  return transact(ctx, async (ctx) => {
    const held = await holdRun(ctx.db, { id: runId })
    return held && moveRun(ctx, held, change)
  })
}

/**
 * Starts the run that is next in line when the workspace is free. Whoever unlocks a workspace calls it in the same
 * transaction.
 */
export async function advanceQueue(ctx: TransactionCtx, workspaceId: string) {
  const workspace = await holdWorkspace(ctx.db, workspaceId)
  if (workspace) await startNext(ctx, workspace)
}

/**
 * Behind somebody's lock the first in line only becomes the current run: of a locked workspace whose current run is
 * pending, the command line says that it waits for the lock, and of any other that it waits for runs.
 */
async function startNext(ctx: TransactionCtx, workspace: HeldWorkspace) {
  if (workspace.active_run_id !== null || workspace.waiting_runs === 0) return
  const next = await ctx.db
    .selectFrom('runs')
    .select('id')
    .where('workspace_id', '=', workspace.id)
    .where('waits', '=', sql.lit(true))
    .orderBy('queue_order')
    .limit(sql.lit(1))
    .executeTakeFirst()
  if (!next) return
  if (workspace.locked_by_type !== null) {
    if (next.id !== workspace.current_run_id)
      await ctx.db.updateTable('workspaces').set({ current_run_id: next.id }).where('id', '=', workspace.id).execute()
    return
  }
  const held = await holdRun(ctx.db, { id: next.id, workspaceId: workspace.id })
  if (held) await moveRun(ctx, held)
}

async function save(ctx: TransactionCtx, held: HeldRun, moved: Outcome, { events = [], writes: more = [] }: Change) {
  const { run, job, plan, apply } = held
  const writes: OperationNodeSource[] = [
    ctx.db
      .updateTable('runs')
      .set(moved.run)
      .$if(moved.entersLine, (update) => update.set({ queue_order: sql<number>`nextval('run_order')` }))
      .where('id', '=', run.id),
  ]
  const others = [
    moved.plan && ctx.db.updateTable('phases').set(moved.plan).where('id', '=', plan.id),
    moved.apply && ctx.db.updateTable('phases').set(moved.apply).where('id', '=', apply.id),
    moved.workspace && ctx.db.updateTable('workspaces').set(moved.workspace).where('id', '=', run.workspace_id),
    events.length > 0 && insertEvents(ctx, run.id, events),
    ...(job && moved.follows.endsJob ? endJob(ctx, job.id, moved.status) : []),
  ]
  writes.push(...more, ...others.filter((write) => write !== undefined && write !== false))

  // A job may take the place of the one that ends here, and there is at most one that lives: first the end, then the start.
  const replaces = job && moved.follows.endsJob && moved.job
  const start = moved.job && ctx.db.insertInto('agent_jobs').values(moved.job)
  if (start && !replaces) writes.push(start)
  await writeTogether(ctx.db, writes, publishing(moved.topics))
  if (start && replaces) await start.execute()
}

function endJob(ctx: TransactionCtx, jobId: string, status: RunStatus) {
  const changes = { status: 'ended', ended_at: ctx.now(), lease_expires_at: null } as const
  return [
    ctx.db
      .updateTable('agent_jobs')
      .set(status === 'force_canceled' ? { ...changes, command: 'force-cancel' } : changes)
      .where('id', '=', jobId),
    ctx.db
      .deleteFrom('tokens')
      .where('kind', '=', sql.lit('run' as const))
      .where('hash', '=', (eb) => eb.selectFrom('agent_jobs').select('token_hash').where('id', '=', jobId)),
  ]
}

/** The statement that records events of a run; the actor is who asks, unless the event names another. */
export function insertEvents(ctx: TransactionCtx, runId: string, events: readonly NewEvent[]) {
  return ctx.db.insertInto('run_events').values(
    events.map((event) => ({
      id: ctx.newId('re'),
      run_id: runId,
      action: event.action,
      description: event.description ?? null,
      actor_user_id: event.actorUserId === undefined ? actorUserId(ctx.actor) : event.actorUserId,
      comment_id: event.commentId ?? null,
      created_at: ctx.now(),
    })),
  )
}

/** What other features do about it, and then the next run. */
export async function follow(ctx: TransactionCtx, held: Pick<HeldRun, 'run' | 'workspace'>, moved: Outcome) {
  const { run } = held
  const { follows } = moved
  if (follows.startStage !== undefined && !isEnded(moved.status)) await startStage(ctx, run, follows.startStage)
  if (follows.cancelsStages && run.stages.length > 0) await cancelStages(ctx, { id: run.id, status: moved.status })
  // The engine's states are snapshots until its run lets go of the workspace.
  if (follows.releases) await promoteIntermediate(ctx, held.workspace)
  if (follows.applied) await onRunApplied(ctx, run)
  await startNext(ctx, { ...held.workspace, ...moved.workspace })
}
