import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { BlobExistsError } from '../../../blobs/errors.ts'
import { notFound } from '../../../errors.ts'
import { advanceRun } from '../runs/transitions.ts'
import { isPhaseOver } from './status.ts'
import * as store from './store.ts'

/**
 * Logs as clients of the public API read them: a byte 0x02 first and, once the phase has ended, 0x03 last; both count in
 * offsets. While a phase is at work its log grows in rows, that any replica can read; afterwards it moves to blobs.
 */
const STX = Buffer.from([2])
const ETX = Buffer.from([3])

/** The most that one read returns. */
export const MAX_READ_BYTES = 1024 * 1024
/** A log in blobs is cut at every multiple of this, so that a read opens two blobs at most. */
const SEGMENT_BYTES = 1024 * 1024

const LOG_URL_HOURS = 25

/** The absolute URL of a log. Clients replace its query, so what grants access is in the path. */
export function logUrl(ctx: Pick<Ctx, 'secrets' | 'baseUrl' | 'now'>, phaseId: string) {
  const expiresAt = new Date(ctx.now().getTime() + LOG_URL_HOURS * 3_600_000)
  return `${ctx.baseUrl}/_objects/logs/${ctx.secrets.signPath({ purpose: 'log', id: phaseId, expiresAt })}`
}

export type LogPiece = { bytes: Buffer; isEnd: boolean }

/** Bytes of a log from `offset` on, empty where there are none yet; `isEnd` when nothing will ever follow them. */
export async function readLog(
  ctx: Ctx,
  phaseId: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<LogPiece> {
  const size = Math.min(limit, MAX_READ_BYTES)
  // Offset 0 is the framing byte: the content itself begins at 1.
  const from = Math.max(0, offset - 1)
  const to = Math.max(from, offset + size - 1)
  const log = await store.findLog(ctx.db, phaseId, { from, to })
  if (!log) throw notFound('log')
  if (log.kind === 'apply' && log.log_opened_at === null) await openLog(ctx, log)

  const over = isPhaseOver(log.status)
  const contentSize = log.log_size ?? log.chunks_end ?? 0
  const content = log.log_size === null ? (log.bytes ?? Buffer.alloc(0)) : await readBlobs(ctx, log, { from, to })
  const whole = Buffer.concat([
    ...(offset === 0 && size > 0 ? [STX] : []),
    content,
    ...(over && from + content.length >= contentSize && offset <= contentSize + 1 ? [ETX] : []),
  ])
  const bytes = whole.subarray(0, size)
  return { bytes, isEnd: over && offset + bytes.length >= contentSize + 2 }
}

/** An apply that failed may wait for its log to be opened before it says so. */
async function openLog(ctx: Ctx, log: { id: string; run_id: string; held_until: Date | null }) {
  await store.markLogOpened(ctx.db, log.id, ctx.now())
  if (log.held_until !== null) await advanceRun({ ...ctx, actor: SYSTEM }, log.run_id)
}

export const LOG_PREFIX = 'logs/'

function segmentKey(phaseId: string, index: number) {
  return `${LOG_PREFIX}${phaseId}/${index}`
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

const COMPACTION_BATCH = 200

/** Moves logs of phases that ended before `before` out of the rows. Runs again harmlessly after a kill. */
export async function compactLogs(ctx: Ctx, before: Date, signal?: AbortSignal) {
  for (;;) {
    const phases = await store.listUncompacted(ctx.db, { before, limit: COMPACTION_BATCH })
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
    // Another process may have been faster.
    if (!log || log.log_size !== null) return
    size = log.chunks_end ?? 0
    if (!log.bytes || log.bytes.length === 0) break
    await ctx.blobs.put(segmentKey(phaseId, index), log.bytes).catch((error: unknown) => {
      if (!(error instanceof BlobExistsError)) throw error
    })
  }
  await ctx.db
    .with('stored', (db) =>
      db.updateTable('phases').set({ log_size: size }).where('id', '=', phaseId).where('log_size', 'is', null),
    )
    .deleteFrom('log_chunks')
    .where('phase_id', '=', phaseId)
    .execute()
}
