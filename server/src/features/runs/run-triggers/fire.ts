import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { AppError, type ErrorKind } from '../../../errors.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'
import { runEventRow } from '../run-events/run-event.ts'
import { runEventsInsert } from '../run-events/store.ts'
import { announceRuns } from '../runs/announce.ts'
import { insertRun } from '../runs/create.ts'
import * as store from './firing-store.ts'
import { MAX_LINKS, REASONS, triggeredMessage } from './firing.ts'
import { readUnchanged } from './read-unchanged.ts'

type Skipped = { firing: store.WaitingFiring; reason: string }

/**
 * Starts one run for all firings that wait in a workspace, and ends those that can't start one with a reason. It may be
 * called at any time and any number of times: each firing is decided once, in the transaction that creates its run.
 */
export async function fireTriggers(ctx: Ctx, workspaceId: string) {
  const system = { ...ctx, actor: SYSTEM }
  const waiting = await store.listWaitingFirings(ctx.db, workspaceId)
  if (waiting.length === 0) return
  const [workspace] = await listReadableWorkspaces(system, [workspaceId])
  if (!workspace) return skipAll(system, waiting, { id: workspaceId, reason: REASONS.deleted })
  const reasons = await readReasons(system, workspace, waiting)
  try {
    await transact(system, async (ctx) => decide(ctx, workspace, { known: waiting, reasons }))
  } catch (error) {
    if (!(error instanceof AppError) || !REFUSALS.has(error.kind)) throw error
    await skipAll(system, waiting, { ...workspace, reason: error.message })
  }
}

/** Kinds of errors that another attempt would meet again. */
const REFUSALS: ReadonlySet<ErrorKind> = new Set(['invalid', 'conflict', 'forbidden', 'not-found'])

type Decided = { known: readonly store.WaitingFiring[]; reasons: ReadonlyMap<store.WaitingFiring['id'], string> }

async function decide(ctx: TransactionCtx, workspace: Workspace, { known, reasons }: Decided) {
  // Firings that came meanwhile have a job of their own.
  const ids = new Set(known.map(({ id }) => id))
  const waiting = (await store.lockWaitingFirings(ctx.db, workspace.id)).filter(({ id }) => ids.has(id))
  const skipped: Skipped[] = []
  const causes: store.WaitingFiring[] = []
  for (const firing of waiting) {
    const reason = reasons.get(firing.id)
    if (reason === undefined) causes.push(firing)
    else skipped.push({ firing, reason })
  }
  const [first] = causes
  if (first) {
    const runId = await insertRun(ctx, workspace, {
      input: { message: triggeredMessage(causes), 'auto-apply': workspace.auto_apply_run_trigger },
      origin: {
        source: 'tfe-run-trigger',
        triggerReason: 'run_trigger',
        createdByUserId: null,
        triggeringRun: {
          id: first.source_run_id,
          workspaceId: first.source_id,
          depth: Math.max(...causes.map((cause) => cause.source_depth)) + 1,
        },
      },
    })
    await store.updateFired(ctx.db, causes, { runId, now: ctx.now() })
    await announceRuns(ctx, sourceRuns(causes))
  }
  await skip(ctx, skipped, workspace.name)
}

/** Why firings start no run, by their ids. */
async function readReasons(ctx: Ctx, workspace: Workspace, waiting: readonly store.WaitingFiring[]) {
  const reasons = new Map<store.WaitingFiring['id'], string>()
  for (const firing of waiting) {
    if (firing.source_depth >= MAX_LINKS) reasons.set(firing.id, REASONS.cut)
    else if (workspace.trigger_only_on_output_change && (await isUnchanged(ctx, workspace, firing)))
      reasons.set(firing.id, REASONS.unchanged(firing.source_name))
  }
  return reasons
}

async function isUnchanged(ctx: Ctx, workspace: Workspace, firing: store.WaitingFiring) {
  try {
    return await readUnchanged(ctx, workspace, firing)
  } catch (error) {
    // Content that is damaged would hold the run back for ever.
    ctx.log.error({ err: error, firing: firing.id }, 'outputs of a source could not be compared')
    return false
  }
}

async function skipAll(
  ctx: Ctx,
  firings: readonly store.WaitingFiring[],
  { id, name, reason }: { id: string; name?: string; reason: string },
) {
  await transact(ctx, async (ctx) => {
    const waiting = await store.lockWaitingFirings(ctx.db, id)
    const ids = new Set(firings.map((firing) => firing.id))
    const still = waiting.filter((firing) => ids.has(firing.id))
    await skip(
      ctx,
      still.map((firing) => ({ firing, reason })),
      name,
    )
  })
}

/** Ends firings without a run; the runs that have fired them show it in their history. */
async function skip(ctx: TransactionCtx, skipped: readonly Skipped[], name?: string) {
  if (skipped.length === 0) return
  const where = name === undefined ? 'a workspace' : `the workspace ${name}`
  const events = skipped.map(({ firing, reason }) =>
    runEventRow(ctx, firing.source_run_id, {
      action: 'trigger_skipped',
      description: `no run was started in ${where}: ${reason}`,
    }),
  )
  await runEventsInsert(ctx.db, events).execute()
  await store.updateSkipped(
    ctx.db,
    skipped.map(({ firing, reason }) => ({ id: firing.id, reason })),
    ctx.now(),
  )
  await announceRuns(ctx, sourceRuns(skipped.map(({ firing }) => firing)))
}

function sourceRuns(firings: readonly store.WaitingFiring[]) {
  return firings.map(({ source_run_id: id }) => id)
}

/** After this time, in ms, a firing that still waits has lost its job. */
const OVERDUE_MS = 60_000
const BATCH = 100

/** Starts the runs of firings whose jobs were lost or have failed too often. */
export async function fireOverdue(ctx: Ctx, signal: AbortSignal) {
  const before = new Date(ctx.now().getTime() - OVERDUE_MS)
  for (const workspaceId of await store.listOverdueWorkspaces(ctx.db, { before, limit: BATCH })) {
    if (signal.aborted) return
    await fireTriggers(ctx, workspaceId).catch((error: unknown) => {
      ctx.log.error({ err: error, workspace: workspaceId }, 'a run trigger could not be fired')
    })
  }
}
