import type { Ctx } from '../../../app.ts'
import { BlobExistsError } from '../../../blobs/errors.ts'
import { LATE_MS, SEGMENT_BYTES, segmentKey } from './log.ts'
import * as store from './store.ts'

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
