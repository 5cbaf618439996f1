import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { announceSoon } from '../../../changes/announce.ts'
import { AppError, conflict, unauthorized } from '../../../errors.ts'
import { LATE_MS } from '../plans/log.ts'
import { insertChunk } from './log-store.ts'

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
  const chunk = {
    jobId,
    tokenHash: tokenHash(token),
    offset,
    bytes,
    lostAfter: new Date(ctx.now().getTime() - LATE_MS),
    limit: ctx.config.logLimit + SLACK_BYTES,
    notice: `\nThe log is cut off here: it is longer than ${ctx.config.logLimit} bytes. The run goes on.\n`,
  }
  for (;;) {
    const row = await insertChunk(ctx.db, chunk)
    if (!row) throw unauthorized('the token is not that of this job')
    if (!row.open) throw conflict(`the job ${jobId} is no longer yours`)
    if (!row.full && row.size < offset) {
      const detail = `the log has ${row.size} bytes: what stands between them and ${offset} is missing`
      throw new AppError('range-not-satisfiable', [{ detail }])
    }
    if (row.full || row.size >= offset + bytes.length) {
      const { organization_id: organization, workspace_id: workspace, run_id: run } = row
      announceSoon(ctx, { organization, type: 'logs', id: row.phase_id, workspace, run })
      return row.full ? offset + bytes.length : row.size
    }
    // A concurrent request with the same bytes was storing them, and has finished now.
  }
}
