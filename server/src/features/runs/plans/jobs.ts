import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { BlobExistsError } from '../../../blobs/errors.ts'
import { blobOwner, deleteBlobs, sweepBlobs } from '../../../blobs/sweep.ts'
import { transact } from '../../../db/db.ts'
import { jobHandler } from '../../../handlers.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { deleteOutcomeBodies } from '../../tasks/task-results/jobs.ts'
import {
  ARTIFACT_PREFIX,
  FILE_KINDS,
  JSON_KINDS,
  LATE_MS,
  LOG_PREFIX,
  SEGMENT_BYTES,
  artifactKey,
  readArtifactKey,
  segmentKey,
  segmentKeys,
} from './artifact.ts'
import { type KeptPart, type PhasePlace, endHistories, endPhaseParts } from './retention-store.ts'
import * as store from './store.ts'

/** How long logs stay in rows after their end, in ms: new logs are read often, and rows are cheaper to read. */
const COMPACTION_DELAY_MS = 30_000

const compaction = jobKind('logs.compact', z.object({}), { concurrency: 1, retryLimit: 0 })
const sweep = jobKind('runs.sweep', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })
const expiry = jobKind('runs.expire', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

export const planJobs = [
  jobHandler(
    compaction,
    async (ctx, _, signal) => compactLogs(ctx, new Date(ctx.now().getTime() - COMPACTION_DELAY_MS), signal),
    {
      schedule: '* * * * *',
    },
  ),
  jobHandler(sweep, async (ctx, _, signal) => void (await sweepRunBlobs(ctx, signal)), { schedule: '7 3 * * *' }),
  jobHandler(expiry, async (ctx, _, signal) => expirePlans(ctx, signal), { schedule: '22 * * * *' }),
]

const COMPACTION_BATCH = 200

/** Moves the logs of phases that ended before `before` from rows to blobs. It can be repeated after a crash. */
export async function compactLogs(ctx: Ctx, before: Date, signal?: AbortSignal) {
  const lostBefore = new Date(before.getTime() - LATE_MS)
  for (;;) {
    const phases = await store.listUncompacted(ctx.db, { before, lostBefore, limit: COMPACTION_BATCH })
    for (const { id } of phases) {
      if (signal?.aborted) return
      await compactLog(ctx, id)
    }
    if (phases.length < COMPACTION_BATCH) return
  }
}

async function compactLog(ctx: Ctx, phaseId: string) {
  let size = 0
  for (let index = 0; ; index += 1) {
    const from = index * SEGMENT_BYTES
    const log = await store.findLog(ctx.db, phaseId, { from, to: from + SEGMENT_BYTES })
    // Another process may have moved the log already.
    if (!log || log.log_size !== null) return
    size = log.chunks_end ?? 0
    if (!log.bytes || log.bytes.length === 0) break
    await ctx.blobs.put(segmentKey(phaseId, index), log.bytes).catch((error: unknown) => {
      if (!(error instanceof BlobExistsError)) throw error
    })
  }
  await store.deleteLogRows(ctx.db, { phaseId, size })
}

/** A statement for so many takes about 7 ms of the database, the same among a million as among a thousand. */
const BATCH = 50
/** Days that plan files are kept, for investigating recent runs. */
const FILE_DAYS = 1

/**
 * Deletes expired documents of plans and applies of finished runs. Rows come first: a blob left behind by a kill is
 * swept as one that no row names.
 */
export async function expirePlans(ctx: Ctx, signal: AbortSignal) {
  const { logRetentionDays, planRetentionDays, runHistoryRetentionDays } = ctx.config
  await expireLogs(ctx, dueBefore(ctx.now(), logRetentionDays), signal)
  await expireArtifacts(ctx, { part: 'json', before: dueBefore(ctx.now(), planRetentionDays) }, signal)
  await expireArtifacts(ctx, { part: 'file', before: dueBefore(ctx.now(), FILE_DAYS) }, signal)
  await expireHistories(ctx, dueBefore(ctx.now(), runHistoryRetentionDays), signal)
}

async function expireLogs(ctx: Ctx, before: Date | undefined, signal: AbortSignal) {
  if (!before) return
  await expireInBatches<PhasePlace>(ctx, 'logs', {
    signal,
    batch: async (after) => {
      const page = await transact(ctx, async (ctx) => {
        const page = await endPhaseParts(ctx.db, 'log', { before, after, now: ctx.now(), limit: BATCH })
        await deleteOutcomeBodies(
          ctx,
          page.flatMap((phase) => phase.run_id ?? []),
        )
        return page
      })
      const ended = page.filter((phase) => phase.run_id !== null)
      await deleteBlobs(
        ctx.blobs,
        ended.flatMap((phase) => segmentKeys(phase.id, phase.log_size ?? 0)),
      )
      return { deleted: ended.length, next: nextPlace(page) }
    },
  })
}

type Artifacts = { part: Exclude<KeptPart, 'log'>; before: Date | undefined }

async function expireArtifacts(ctx: Ctx, { part, before }: Artifacts, signal: AbortSignal) {
  if (!before) return
  const kinds = part === 'json' ? JSON_KINDS : FILE_KINDS
  await expireInBatches<PhasePlace>(ctx, part === 'json' ? 'plans' : 'plan files', {
    signal,
    batch: async (after) => {
      const page = await endPhaseParts(ctx.db, part, { before, after, now: ctx.now(), limit: BATCH })
      // Each attempt has its own files.
      const keys = page.flatMap(({ run_id: runId, job_ids: jobIds }) =>
        runId === null ? [] : jobIds.flatMap((jobId) => kinds.map((kind) => artifactKey(runId, jobId, kind))),
      )
      await deleteBlobs(ctx.blobs, keys)
      return { deleted: page.filter((phase) => phase.run_id !== null).length, next: nextPlace(page) }
    },
  })
}

async function expireHistories(ctx: Ctx, before: Date | undefined, signal: AbortSignal) {
  if (!before) return
  await expireInBatches<PhasePlace>(ctx, 'histories', {
    signal,
    batch: async (after) => {
      const page = await endHistories(ctx.db, { before, after, now: ctx.now(), limit: BATCH })
      return { deleted: page.filter((plan) => plan.run_id !== null).length, next: nextPlace(page) }
    },
  })
}

function nextPlace(page: readonly PhasePlace[]): PhasePlace | undefined {
  return page.length < BATCH ? undefined : page.at(-1)
}

/** Deletes the logs and files of deleted runs, and those that are no longer kept. Returns the number of deleted blobs. */
export async function sweepRunBlobs(ctx: Ctx, signal: AbortSignal) {
  const logs = await sweepBlobs(ctx, LOG_PREFIX, async (keys) => namedLogs(ctx, keys), signal)
  const artifacts = await sweepBlobs(ctx, ARTIFACT_PREFIX, async (keys) => namedArtifacts(ctx, keys), signal)
  if (logs + artifacts > 0) ctx.log.info({ logs, artifacts }, 'deleted logs and files that no run has')
  return logs + artifacts
}

async function namedLogs(ctx: Ctx, keys: readonly string[]) {
  const owner = (key: string) => blobOwner(key, LOG_PREFIX)
  const found = await store.findLoggedPhases(ctx.db, [...new Set(keys.map(owner))])
  return new Set(keys.filter((key) => found.has(owner(key))))
}

async function namedArtifacts(ctx: Ctx, keys: readonly string[]) {
  const runIds = new Set(keys.map((key) => readArtifactKey(key).runId))
  const plans = new Map((await store.findPlansOfRuns(ctx.db, [...runIds])).map((plan) => [plan.run_id, plan]))
  const isNamed = (key: string) => {
    const { runId, kind } = readArtifactKey(key)
    const plan = plans.get(runId)
    if (!plan) return false
    if (isOf(JSON_KINDS, kind)) return plan.json_deleted_at === null
    return !isOf(FILE_KINDS, kind) || plan.file_deleted_at === null
  }
  return new Set(keys.filter(isNamed))
}

function isOf(kinds: readonly string[], kind: string) {
  return kinds.includes(kind)
}
