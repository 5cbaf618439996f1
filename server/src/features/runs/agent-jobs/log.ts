import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { announce } from '../../../changes/announce.ts'
import { AppError, conflict, unauthorized } from '../../../errors.ts'
import { LATE_RESULT_WINDOW_MS } from '../plans/artifact.ts'
import { type ChunkedLog, chunkInsert, insertChunk } from './log-store.ts'
import type { Job } from './store.ts'

/** Bytes by which a log may exceed its limit, for the notice of an agent that truncates its output. */
const LIMIT_MARGIN_BYTES = 64 * 1024

/** Bytes of a log, at `offset` of the output of its job. */
export type LogPart = { offset: number; bytes: Buffer }
type SentPart = LogPart & { token: string | undefined }

/**
 * Appends bytes to the log of a job, running or a lost apply. Idempotent: bytes that are stored already are skipped. Returns the number
 * of bytes accepted so far, once they are durable. Bytes beyond the limit of a log are accepted and dropped, so that an engine with
 * endless output neither fills the disk nor blocks.
 */
export async function appendLog(ctx: Ctx, jobId: string, { token, offset, bytes }: SentPart): Promise<number> {
  if (token === undefined) throw unauthorized()
  const chunk = { jobId, tokenHash: tokenHash(token), offset, bytes, ...limitsOf(ctx) }
  for (;;) {
    const row = await insertChunk(ctx.db, chunk)
    if (!row) throw unauthorized('the token does not belong to this job')
    if (!row.open) throw conflict(`the job ${jobId} is no longer yours`)
    if (!row.full && row.size < offset) throw gap(row.size, offset)
    if (row.full || row.size >= offset + bytes.length) {
      announceLog(ctx, row)
      return row.full ? offset + bytes.length : row.size
    }
    // A concurrent request was storing the same bytes, and has finished now.
  }
}

type LogOwner = Pick<Job, 'organization_id' | 'phase_id' | 'workspace_id' | 'run_id'>

export function announceLog(ctx: Ctx, log: LogOwner) {
  const { organization_id: organization, phase_id: id, workspace_id: workspace, run_id: run } = log
  announce(ctx, { organization, type: 'logs', id, workspace, run })
}

export async function insertRest(ctx: Ctx, job: Job, rest: LogPart) {
  const { rows: [row] = [] } = (await restInsert(ctx, job, rest)?.execute(ctx.db)) ?? {}
  if (row) checkRest(row, rest)
}

/** The statement that appends the rest of a locked job's log, for `checkRest`; undefined for a job without a token. */
export function restInsert(ctx: Ctx, job: Job, { offset, bytes }: LogPart) {
  if (job.token_hash === null) return undefined
  return chunkInsert({ jobId: job.id, tokenHash: job.token_hash, offset, bytes, ...limitsOf(ctx) })
}

/** Throws `range-not-satisfiable` if bytes before `offset` are missing. */
export function checkRest({ open, full, size }: ChunkedLog, { offset, bytes }: LogPart) {
  if (open && !full && size < offset + bytes.length) throw gap(size, offset)
}

function limitsOf({ config, now }: Ctx) {
  return {
    lostAfter: new Date(now().getTime() - LATE_RESULT_WINDOW_MS),
    limit: config.logLimit + LIMIT_MARGIN_BYTES,
    notice: `\nThe log is cut off here: it is longer than ${config.logLimit} bytes. The run continues.\n`,
  }
}

function gap(size: number, offset: number) {
  const detail = `the log has ${size} bytes: those from there to ${offset} are missing`
  return new AppError('range-not-satisfiable', [{ detail }])
}
