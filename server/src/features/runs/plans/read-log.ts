import { hasPhaseEnded } from '@groundstate/contract/run-status'
import type { Ctx } from '../../../app.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { noLongerKept, notFound } from '../../../errors.ts'
import { MAX_READ_BYTES, SEGMENT_BYTES, segmentKey } from './log.ts'
import * as store from './store.ts'

/**
 * In the public API, a log starts with the byte 0x02 and, once the phase has ended, ends with 0x03; offsets count both.
 * The log of a running phase is stored in rows, which every replica can read. After the end it moves to blobs.
 */
const STX = Buffer.from([2])
const ETX = Buffer.from([3])
export type LogChunk = { bytes: Buffer; isEnd: boolean }

/**
 * The bytes of a log from `offset` on, empty if there are none yet; `isEnd` says that the log ends with them. Throws `not-found`, in
 * words of its own for a log that is no longer kept.
 */
export async function readLog(
  ctx: Ctx,
  phaseId: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<LogChunk> {
  const size = Math.min(limit, MAX_READ_BYTES)
  // Offset 0 is the byte 0x02: the content begins at 1.
  const from = Math.max(0, offset - 1)
  const to = Math.max(from, offset + size - 1)
  const log = await store.findLog(ctx.db, phaseId, { from, to })
  if (!log) throw notFound('log')
  if (log.log_deleted_at !== null) throw noLongerKept(`the log of ${phaseId}`, log.log_deleted_at)

  const over = hasPhaseEnded(log.status)
  const contentSize = log.log_size ?? log.chunks_end ?? 0
  const content = log.log_size === null ? (log.bytes ?? Buffer.alloc(0)) : await readKept(ctx, log, { from, to })
  const whole = Buffer.concat([
    ...(offset === 0 && size > 0 ? [STX] : []),
    content,
    ...(over && from + content.length >= contentSize && offset <= contentSize + 1 ? [ETX] : []),
  ])
  const bytes = whole.subarray(0, size)
  return { bytes, isEnd: over && offset + bytes.length >= contentSize + 2 }
}

/** As `readBlobs`; what has been deleted since the row was read is no longer kept. */
async function readKept(ctx: Ctx, log: Parameters<typeof readBlobs>[1], range: { from: number; to: number }) {
  try {
    return await readBlobs(ctx, log, range)
  } catch (error) {
    if (error instanceof BlobNotFoundError) throw noLongerKept(`the log of ${log.id}`, ctx.now())
    throw error
  }
}

async function readBlobs(
  ctx: Ctx,
  log: { id: string; log_size: number | null },
  { from, to }: { from: number; to: number },
) {
  const end = Math.min(to, log.log_size ?? 0)
  const parts: Buffer[] = []
  for (let at = from; at < end;) {
    const index = Math.floor(at / SEGMENT_BYTES)
    const start = index * SEGMENT_BYTES
    const segment = await ctx.blobs.read(segmentKey(log.id, index))
    const part = segment.subarray(at - start, end - start)
    parts.push(part)
    at += part.length
    if (part.length === 0) throw new Error(`the log of ${log.id} ends before its size of ${log.log_size} bytes`)
  }
  return Buffer.concat(parts)
}
