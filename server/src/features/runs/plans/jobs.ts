import type { Ctx } from '../../../app.ts'
import { BlobExistsError } from '../../../blobs/errors.ts'
import { blobOwner, deleteBlobs, sweepBlobs } from '../../../blobs/sweep.ts'
import { transact } from '../../../db/db.ts'
import { scheduledJob } from '../../../handlers.ts'
import { type Expiring, dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { deleteOutcomeBodies } from '../../tasks/task-results/jobs.ts'
import {
  ARTIFACT_PREFIX,
  FILE_KINDS,
  JSON_KINDS,
  LATE_RESULT_WINDOW_MS,
  LOG_PREFIX,
  SEGMENT_BYTES,
  artifactKey,
  readArtifactKey,
  segmentKey,
  segmentKeys,
} from './artifact.ts'
import * as store from './store.ts'

/** Time that logs stay in rows after their end, in ms: new logs are read often, and rows are faster to read. */
const COMPACTION_DELAY_MS = 30_000

export const planJobs = [
  scheduledJob(
    'logs.compact',
    '* * * * *',
    async (ctx, signal) => compactLogs(ctx, new Date(ctx.now().getTime() - COMPACTION_DELAY_MS), signal),
    { retryLimit: 0 },
  ),
  scheduledJob('runs.sweep', '7 3 * * *', sweepRunBlobs, { timeLimitMs: 3_600_000 }),
  scheduledJob('runs.expire', '22 * * * *', expirePlans, { timeLimitMs: 3_600_000 }),
]

const COMPACTION_BATCH = 200

/** Moves the logs of phases that ended before `before` from rows to blobs. Idempotent. */
export async function compactLogs(ctx: Ctx, before: Date, signal?: AbortSignal) {
  const lostBefore = new Date(before.getTime() - LATE_RESULT_WINDOW_MS)
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
    // Moved by another process.
    if (!log || log.log_size !== null) return
    size = log.chunks_end ?? 0
    if (!log.bytes || log.bytes.length === 0) break
    await ctx.blobs.put(segmentKey(phaseId, index), log.bytes).catch((error: unknown) => {
      if (!(error instanceof BlobExistsError)) throw error
    })
  }
  await store.deleteLogRows(ctx.db, { phaseId, size })
}

/** A statement for this many phases takes about 7 ms, whatever the size of the table. */
const BATCH = 50
/** Days that plan files are kept, for investigating recent runs. */
const FILE_DAYS = 1

/** Deletes expired parts of finished runs: rows first, since a sweep deletes blobs that remain after a crash. */
export async function expirePlans(ctx: Ctx, signal: AbortSignal) {
  const { logRetentionDays, planRetentionDays, runHistoryRetentionDays } = ctx.config
  const expiries: Expiry[] = [
    { what: 'logs', days: logRetentionDays, expirePage: expireLogs },
    { what: 'plans', days: planRetentionDays, expirePage: async (ctx, query) => expireArtifacts(ctx, 'json', query) },
    { what: 'plan files', days: FILE_DAYS, expirePage: async (ctx, query) => expireArtifacts(ctx, 'file', query) },
    {
      what: 'histories',
      days: runHistoryRetentionDays,
      expirePage: async ({ db }, query) => store.deleteHistories(db, query),
    },
  ]
  for (const { what, days, expirePage } of expiries) {
    const before = dueBefore(ctx.now(), days)
    if (!before) continue
    await expireInBatches<store.PhaseCursor>(ctx, what, {
      signal,
      batch: async (after) => {
        const page = await expirePage(ctx, { before, after, now: ctx.now(), limit: BATCH })
        const deleted = page.filter((phase) => phase.run_id !== null).length
        return { deleted, next: page.length < BATCH ? undefined : page.at(-1) }
      },
    })
  }
}

type Query = Parameters<typeof store.deleteHistories>[1]
type ExpirePage = (ctx: Ctx, query: Query) => ReturnType<typeof store.deleteHistories>
type Expiry = { what: Expiring; days: number; expirePage: ExpirePage }

async function expireLogs(ctx: Ctx, query: Query) {
  const page = await transact(ctx, async (ctx) => {
    const page = await store.expirePhaseParts(ctx.db, 'log', query)
    const runIds = page.flatMap((phase) => phase.run_id ?? [])
    await deleteOutcomeBodies(ctx, runIds)
    return page
  })
  const keys = page.flatMap(({ id, run_id: runId, log_size: size }) =>
    runId === null ? [] : segmentKeys(id, size ?? 0),
  )
  await deleteBlobs(ctx.blobs, keys)
  return page
}

async function expireArtifacts(ctx: Ctx, part: 'json' | 'file', query: Query) {
  const kinds = part === 'json' ? JSON_KINDS : FILE_KINDS
  const page = await store.expirePhaseParts(ctx.db, part, query)
  // Each attempt has its own files.
  const keys = page.flatMap(({ run_id: runId, job_ids: jobIds }) =>
    runId === null ? [] : jobIds.flatMap((jobId) => kinds.map((kind) => artifactKey(runId, jobId, kind))),
  )
  await deleteBlobs(ctx.blobs, keys)
  return page
}

/** Deletes the logs and files of deleted runs, and expired ones. Returns the number of deleted blobs. */
export async function sweepRunBlobs(ctx: Ctx, signal: AbortSignal) {
  const logs = await sweepBlobs(ctx, LOG_PREFIX, async (keys) => findUsedLogs(ctx, keys), signal)
  const artifacts = await sweepBlobs(ctx, ARTIFACT_PREFIX, async (keys) => findUsedArtifacts(ctx, keys), signal)
  if (logs + artifacts > 0) ctx.log.info({ logs, artifacts }, 'deleted logs and files without a run')
  return logs + artifacts
}

async function findUsedLogs(ctx: Ctx, keys: readonly string[]) {
  const owner = (key: string) => blobOwner(key, LOG_PREFIX)
  const phases = await store.findLoggedPhases(ctx.db, [...new Set(keys.map(owner))])
  return new Set(keys.filter((key) => phases.has(owner(key))))
}

async function findUsedArtifacts(ctx: Ctx, keys: readonly string[]) {
  const runIds = new Set(keys.map((key) => readArtifactKey(key).runId))
  const plans = new Map((await store.findPlansOfRuns(ctx.db, [...runIds])).map((plan) => [plan.run_id, plan]))
  const isUsed = (key: string) => {
    const { runId, kind } = readArtifactKey(key)
    const plan = plans.get(runId)
    if (!plan) return false
    if (JSON_KINDS.includes(kind)) return plan.json_deleted_at === null
    return !FILE_KINDS.includes(kind) || plan.file_deleted_at === null
  }
  return new Set(keys.filter(isUsed))
}
