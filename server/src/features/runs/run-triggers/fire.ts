import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { BlobTooLargeError } from '../../../blobs/errors.ts'
import { transact } from '../../../db/db.ts'
import { AppError, type ErrorKind } from '../../../errors.ts'
import { jobHandler, reaction, scheduledJob } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { listChangedOutputs } from '../../states/state-version-outputs/service.ts'
import { type Workspace, listReadableWorkspaces } from '../../workspaces/workspaces/access.ts'
import { artifactKey, ifStored } from '../plans/artifact.ts'
import { announceRuns, runApplied } from '../runs/audit.ts'
import type { RunRow } from '../runs/locked-run-store.ts'
import { runEventRow, runEventsInsert } from '../runs/run-event-store.ts'
import { insertRun } from '../runs/service.ts'
import type { WaitingFiring } from './store.ts'
import * as store from './store.ts'

type Reasons = ReadonlyMap<WaitingFiring['id'], string>

/** Starts one run for the waiting firings of a workspace, and ends those that cannot start one. Idempotent: each is decided with its run. */
export async function fireTriggers(ctx: Ctx, workspaceId: string) {
  const system = { ...ctx, actor: SYSTEM }
  const waiting = await store.listWaitingFirings(ctx.db, workspaceId)
  if (waiting.length === 0) return
  const [workspace] = await listReadableWorkspaces(system, [workspaceId])
  if (!workspace) return skipAll(system, waiting, { id: workspaceId, reason: REASONS.deleted })
  const reasons = await readReasons(system, workspace, waiting)
  try {
    await transact(system, async (ctx) => decide(ctx, workspace, { waiting, reasons }))
  } catch (error) {
    if (!(error instanceof AppError) || !PERMANENT.has(error.kind)) throw error
    await skipAll(system, waiting, { ...workspace, reason: error.message })
  }
}

/** Errors that a retry cannot resolve. */
const PERMANENT: ReadonlySet<ErrorKind> = new Set(['invalid', 'conflict', 'forbidden', 'not-found'])

type Decision = { waiting: readonly WaitingFiring[]; reasons: Reasons }

async function decide(ctx: TransactionCtx, workspace: Workspace, { waiting, reasons }: Decision) {
  const firings = await lockWaiting(ctx, workspace.id, waiting)
  const causes = firings.filter(({ id }) => !reasons.has(id))
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
    const ids = causes.map(({ id }) => id)
    await store.updateFired(ctx.db, ids, { runId, now: ctx.now() })
    await announceSources(ctx, causes)
  }
  const skipped = firings.filter(({ id }) => reasons.has(id))
  await skip(ctx, skipped, { reasonOf: ({ id }) => reasons.get(id) ?? '', name: workspace.name })
}

/** Locks those of the firings that still wait. Newer ones have their own job. */
async function lockWaiting(ctx: TransactionCtx, workspaceId: string, listed: readonly WaitingFiring[]) {
  const ids = new Set(listed.map(({ id }) => id))
  return (await store.lockWaitingFirings(ctx.db, workspaceId)).filter(({ id }) => ids.has(id))
}

async function readReasons(ctx: Ctx, workspace: Workspace, waiting: readonly WaitingFiring[]): Promise<Reasons> {
  const reasons = new Map<WaitingFiring['id'], string>()
  for (const firing of waiting) {
    if (firing.source_depth >= MAX_LINKS) reasons.set(firing.id, REASONS.tooDeep)
    else if (workspace.trigger_only_on_output_change && (await isUnchanged(ctx, workspace, firing)))
      reasons.set(firing.id, REASONS.unchanged(firing.source_name))
  }
  return reasons
}

type Skipped = { id: string; name?: string; reason: string }

async function skipAll(ctx: Ctx, waiting: readonly WaitingFiring[], { id, name, reason }: Skipped) {
  await transact(ctx, async (ctx) => {
    await skip(ctx, await lockWaiting(ctx, id, waiting), { reasonOf: () => reason, name })
  })
}

type Skipping = { reasonOf: (firing: WaitingFiring) => string; name: string | undefined }

/** Ends firings without a run, and records that in the events of their source runs. */
async function skip(ctx: TransactionCtx, firings: readonly WaitingFiring[], { reasonOf, name }: Skipping) {
  if (firings.length === 0) return
  const where = name === undefined ? 'a workspace' : `the workspace ${name}`
  const skipped = firings.map((firing) => ({ id: firing.id, reason: reasonOf(firing), runId: firing.source_run_id }))
  const events = skipped.map(({ runId, reason }) => {
    const description = `no run was started in ${where}: ${reason}`
    return runEventRow(ctx, runId, { action: 'trigger_skipped', description })
  })
  await runEventsInsert(ctx.db, events).execute()
  await store.updateSkipped(ctx.db, skipped, ctx.now())
  await announceSources(ctx, firings)
}

async function announceSources(ctx: TransactionCtx, firings: readonly WaitingFiring[]) {
  const ids = firings.map(({ source_run_id: id }) => id)
  await announceRuns(ctx, ids)
}

/** Starts the runs that a workspace has triggered without waiting for the delay, except in `skipped` workspaces: its firings are deleted with it. */
export async function fireOutbound(ctx: Ctx, sourceId: string, skipped: readonly string[] = []) {
  const workspaceIds = await store.listWaitingDestinations(ctx.db, sourceId)
  for (const workspaceId of workspaceIds) if (!skipped.includes(workspaceId)) await fireOrLog(ctx, workspaceId)
}

async function fireOrLog(ctx: Ctx, workspaceId: string) {
  await fireTriggers(ctx, workspaceId).catch((error: unknown) => {
    ctx.log.error({ err: error, workspace: workspaceId }, 'a run trigger could not be fired')
  })
}

/** A firing that still waits after this time, in ms, has lost its job. */
const OVERDUE_MS = 60_000
const BATCH = 100

/** Starts the runs of firings whose job was lost or failed too often. */
export async function fireOverdue(ctx: Ctx, signal: AbortSignal) {
  const before = new Date(ctx.now().getTime() - OVERDUE_MS)
  for (const workspaceId of await store.listOverdueWorkspaces(ctx.db, { before, limit: BATCH })) {
    if (signal.aborted) return
    await fireOrLog(ctx, workspaceId)
  }
}

/** Maximum length of a chain of runs: workspaces that trigger each other would never stop otherwise. */
const MAX_LINKS = 25

const REASONS = {
  deleted: 'the workspace has been deleted',
  tooDeep: `the chain of runs has ${MAX_LINKS} links, which is the longest possible: it is cut here`,
  unchanged: (source: string) => `outputs unchanged: nothing that the workspace reads from ${source} has changed`,
} as const

/** Maximum causes named in the message; the run's relationships list all of them. */
const MAX_NAMED_CAUSES = 20
const CONJUNCTION = new Intl.ListFormat('en-GB', { type: 'conjunction' })

/** `Triggered by run-1 in network and run-2 in dns`. */
function triggeredMessage(firings: readonly WaitingFiring[]) {
  const named = firings.slice(0, MAX_NAMED_CAUSES).map((firing) => `${firing.source_run_id} in ${firing.source_name}`)
  const more = firings.length - named.length
  return `Triggered by ${CONJUNCTION.format(more > 0 ? [...named, `${more} more`] : named)}`
}

const fireData = z.object({ workspaceId: z.string() })
const fireJob = jobKind('run-triggers.fire', fireData, { concurrency: 4, timeLimitMs: 60_000 })

export const runTriggerJobs = [
  jobHandler(fireJob, async (ctx, { workspaceId }) => fireTriggers(ctx, workspaceId)),
  scheduledJob('run-triggers.overdue', '* * * * *', fireOverdue),
]

export const runTriggerReactions = [reaction(runApplied, recordFirings)]

/** Records the firings of an apply. Their jobs are delayed, so that applies of other sources join the same run. */
async function recordFirings(ctx: TransactionCtx, run: RunRow) {
  const now = ctx.now()
  const fireAt = new Date(now.getTime() + ctx.config.triggerDelay)
  const workspaceIds = await store.insertFirings(ctx.db, run, { now, fireAt })
  const jobs = workspaceIds.map((workspaceId) => ({ workspaceId }))
  if (jobs.length > 0) await ctx.jobs.enqueueAll(ctx.db, fireJob, jobs, { startAfter: fireAt })
}

/** As `readUnchanged`; false if the content is damaged, which would otherwise block the run for ever. */
async function isUnchanged(ctx: Ctx, workspace: Workspace, firing: WaitingFiring) {
  try {
    return await readUnchanged(ctx, workspace, firing)
  } catch (error) {
    ctx.log.error({ err: error, firing: firing.id }, 'outputs of a source could not be compared')
    return false
  }
}

/**
 * Whether the run that fired changed none of the outputs that the workspace reads from the source. If it is unknown which outputs the
 * workspace reads, all count. False if the outputs are unknown: an unneeded run does no harm.
 */
async function readUnchanged(ctx: Ctx, workspace: Workspace, firing: WaitingFiring): Promise<boolean> {
  const { before_state_version_id: beforeId, after_state_version_id: afterId } = firing
  const changed = await listChangedOutputs(ctx, { beforeId, afterId })
  if (changed === undefined) return false
  if (changed.size === 0) return true
  const read = await readOutputNames(ctx, workspace, firing)
  return read !== undefined && !read.some((name) => changed.has(name))
}

/** Maximum sizes of a plan and a compressed archive that are searched, in bytes. */
const MAX_PLAN_BYTES = 64 * 1024 * 1024
const MAX_ARCHIVE_BYTES = 16 * 1024 * 1024

/** The outputs of the source that the workspace's configuration reads; undefined if unknown. */
async function readOutputNames(ctx: Ctx, workspace: Workspace, { source_name: source }: WaitingFiring) {
  const plan = await store.findLastPlan(ctx.db, workspace.id)
  if (!plan?.job_id || !plan.blob_key || (plan.size ?? 0) > MAX_ARCHIVE_BYTES) return undefined
  const key = artifactKey(plan.run_id, plan.job_id, 'plan-json')
  const json = await ifStored(ctx.blobs.read(key, { maxBytes: MAX_PLAN_BYTES })).catch(ignoreTooLarge)
  const archive = json && (await ifStored(ctx.blobs.read(plan.blob_key)))
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

function ignoreTooLarge(error: unknown) {
  if (!(error instanceof BlobTooLargeError)) throw error
  return undefined
}
