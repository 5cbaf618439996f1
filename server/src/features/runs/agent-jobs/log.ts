import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { announce } from '../../../changes/announce.ts'
import type { Db } from '../../../db/db.ts'
import { AppError, conflict, unauthorized } from '../../../errors.ts'
import { LATE_RESULT_WINDOW_MS } from '../plans/artifact.ts'
import { type ChunkedLog, chunkInsert, insertChunk } from './log-store.ts'
import type { Job } from './store.ts'

/** A log may exceed its limit by this many bytes: an agent that cuts its output at the limit has room to say so. */
const SLACK_BYTES = 64 * 1024

/**
 * Appends bytes to the log of a job, at `offset` of what this job has written. Bytes that are stored already are skipped, so
 * an append may be repeated. The log of an apply that was lost is taken for a while longer. Returns the number of bytes taken so far, when they are durable. Bytes beyond the limit of a log
 * are taken and dropped: an engine that prints without end neither fills the disk nor has to wait.
 */
export async function appendLog(
  ctx: Ctx,
  jobId: string,
  { token, offset, bytes }: { token: string | undefined; offset: number; bytes: Buffer },
): Promise<number> {
  if (token === undefined) throw unauthorized()
  const chunk = { jobId, tokenHash: tokenHash(token), offset, bytes, ...limitsOf(ctx) }
  for (;;) {
    const row = await insertChunk(ctx.db, chunk)
    if (!row) throw unauthorized('the token is not that of this job')
    if (!row.open) throw conflict(`the job ${jobId} is no longer yours`)
    if (!row.full && row.size < offset) throw gap(row.size, offset)
    if (row.full || row.size >= offset + bytes.length) {
      announceLog(ctx, row)
      return row.full ? offset + bytes.length : row.size
    }
    // A concurrent request with the same bytes was storing them, and has finished now.
  }
}

/** Tells open pages that a log has grown. */
export function announceLog(
  ctx: Ctx,
  log: { organization_id: string; phase_id: string; workspace_id: string; run_id: string },
) {
  const { organization_id: organization, phase_id: id, workspace_id: workspace, run_id: run } = log
  announce(ctx, { organization, type: 'logs', id, workspace, run })
}

/** Bytes of a log, at `offset` of what its job has written. */
export type LogPart = { offset: number; bytes: Buffer }

type JobOfLog = Pick<Job, 'id' | 'token_hash'>

/** Appends the rest of the log of a job that is lost. */
export async function insertRest(ctx: Pick<Ctx, 'now' | 'config'> & { db: Db }, job: JobOfLog, rest: LogPart) {
  const { rows: [row] = [] } = (await restInsert(ctx, job, rest)?.execute(ctx.db)) ?? {}
  if (row) checkRest(row, rest)
}

/**
 * The statement that appends the rest of the log of a job whose row the transaction has locked, so that no one else appends to it;
 * its response is for `checkRest`. Undefined for a job without a token.
 */
export function restInsert(ctx: Pick<Ctx, 'now' | 'config'>, job: JobOfLog, { offset, bytes }: LogPart) {
  if (job.token_hash === null) return undefined
  return chunkInsert({ jobId: job.id, tokenHash: job.token_hash, offset, bytes, ...limitsOf(ctx) })
}

/** Throws `conflict` when bytes before `offset` are missing. */
export function checkRest({ open, full, size }: ChunkedLog, { offset, bytes }: LogPart) {
  if (open && !full && size < offset + bytes.length) throw gap(size, offset)
}

function limitsOf({ config, now }: Pick<Ctx, 'now' | 'config'>) {
  return {
    lostAfter: new Date(now().getTime() - LATE_RESULT_WINDOW_MS),
    limit: config.logLimit + SLACK_BYTES,
    notice: `\nThe log is cut off here: it is longer than ${config.logLimit} bytes. The run goes on.\n`,
  }
}

function gap(size: number, offset: number) {
  const detail = `the log has ${size} bytes: those from there to ${offset} are missing`
  return new AppError('range-not-satisfiable', [{ detail }])
}
