import type { Ctx } from '../../../app.ts'
import { deleteBlobs } from '../../../blobs/sweep.ts'
import { transact } from '../../../db/db.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import { deleteOutcomeBodies } from '../../tasks/task-results/expire.ts'
import { artifactKey, FILE_KINDS, JSON_KINDS } from './artifact.ts'
import { segmentKeys } from './log.ts'
import { endHistories, endPhaseParts, type KeptPart, type PhasePlace } from './retention-store.ts'

/** A statement for so many takes about 7 ms of the database, the same among a million as among a thousand. */
const BATCH = 50
/** Plan files are kept so many days after the plan, for whoever looks into what has just happened. */
const FILE_DAYS = 1

/**
 * Deletes what is no longer kept of plans and applies of runs that have ended. Rows come first: a blob that a kill leaves behind is
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
      // Each attempt has files of its own.
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
