import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { transact } from '../../../db/db.ts'
import { AppError, type ErrorKind } from '../../../errors.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { listChangedOutputs } from '../../states/state-version-outputs/service.ts'
import { type Workspace, listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { artifactKey } from '../plans/artifact.ts'
import { announceRuns } from '../runs/audit.ts'
import type { RunRow } from '../runs/locked-run-store.ts'
import { runEventRow, runEventsInsert } from '../runs/run-event-store.ts'
import { insertRun } from '../runs/service.ts'
import { type WaitingFiring, findLastPlan } from './firing-store.ts'
import * as store from './firing-store.ts'

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

/** A chain of runs is cut after this many links. Without it, workspaces that trigger each other would never come to rest. */
const MAX_LINKS = 25

const REASONS = {
  deleted: 'the workspace has been deleted',
  cut: `the chain of runs has ${MAX_LINKS} links, which is the longest possible: it is cut here`,
  unchanged: (source: string) => `outputs unchanged: nothing that the workspace reads from ${source} has changed`,
} as const

/** The message has no room for more causes; the run's relationships name all of them. */
const NAMED_CAUSES = 20

/** `Triggered by run-1 in network and run-2 in dns`. */
function triggeredMessage(firings: readonly Pick<WaitingFiring, 'source_run_id' | 'source_name'>[]) {
  const named = firings.slice(0, NAMED_CAUSES).map((firing) => `${firing.source_run_id} in ${firing.source_name}`)
  const more = firings.length - named.length
  const causes = more > 0 ? [...named, `${more} more`] : named
  return `Triggered by ${CONJUNCTION.format(causes)}`
}

const CONJUNCTION = new Intl.ListFormat('en-GB', { type: 'conjunction' })

/** Starts the run of a workspace for which firings wait. */
export const fireJob = jobKind('run-triggers.fire', z.object({ workspaceId: z.string() }), {
  concurrency: 4,
  timeLimitMs: 60_000,
})

/**
 * Records in the transaction of an apply which triggers it fires, and enqueues the jobs that start the runs. The jobs
 * wait for a moment: what else is applied meanwhile joins the same run.
 */
export async function recordFirings(ctx: TransactionCtx, run: RunRow) {
  const now = ctx.now()
  const fireAt = new Date(now.getTime() + ctx.config.triggerDelay)
  const workspaceIds = await store.insertFirings(ctx.db, run, { now, fireAt })
  const jobs = workspaceIds.map((workspaceId) => ({ workspaceId }))
  if (jobs.length > 0) await ctx.jobs.enqueueAll(ctx.db, fireJob, jobs, { startAfter: fireAt })
}

/**
 * Whether none of the outputs that the workspace reads from the source has changed with the run that fired. Where it isn't known
 * which outputs the workspace reads, all count. False where outputs can't be known: a run too many does no harm.
 */
async function readUnchanged(ctx: Ctx, workspace: Workspace, firing: WaitingFiring): Promise<boolean> {
  const changed = await listChangedOutputs(ctx, {
    beforeId: firing.before_state_version_id,
    afterId: firing.after_state_version_id,
  })
  if (changed === undefined) return false
  if (changed.size === 0) return true
  const read = await readOutputNames(ctx, workspace, firing)
  return read !== undefined && !read.some((name) => changed.has(name))
}

/** A larger archive (bytes, packed) is not searched. */
const MAX_ARCHIVE = 16 * 1024 * 1024

/** The outputs of the source that the workspace's configuration reads; undefined where that is unknown. */
async function readOutputNames(ctx: Ctx, workspace: Workspace, { source_name: source }: WaitingFiring) {
  const plan = await findLastPlan(ctx.db, workspace.id)
  if (!plan?.job_id || !plan.blob_key || (plan.size ?? 0) > MAX_ARCHIVE) return undefined
  const json = await readBlob(ctx, artifactKey(plan.run_id, plan.job_id, 'plan-json'))
  const archive = json && (await readBlob(ctx, plan.blob_key))
  if (!archive) return undefined
  const outcome = await ctx.workers.remoteReads(json, archive)
  const reads = outcome.ok ? outcome.value : undefined
  const own = reads?.filter(({ organization, workspace: name }) => {
    const isHere = organization === null || organization.toLowerCase() === workspace.organization_name.toLowerCase()
    return isHere && name.toLowerCase() === source.toLowerCase()
  })
  // A workspace that does not read the source by a reference depends on it in another way.
  if (!own || own.length === 0 || own.some(({ outputs }) => outputs === null)) return undefined
  return own.flatMap(({ outputs }) => outputs ?? [])
}

async function readBlob(ctx: Ctx, key: string): Promise<Buffer | undefined> {
  return ctx.blobs.read(key).catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) return undefined
    throw error
  })
}
