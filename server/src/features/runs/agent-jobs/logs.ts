import { sql } from 'kysely'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { AppError, conflict, unauthorized } from '../../../errors.ts'

/** A log may be longer than its limit by this: an agent that cuts its output there has room to say so. */
const SLACK_BYTES = 64 * 1024

/**
 * Adds bytes to the log of a job, at `offset` of what this job has written. What is stored already is skipped, so that an
 * append may be sent again; it is durable when this returns. Returns the bytes taken so far: those beyond the limit of a log
 * are taken and dropped, so that an engine which prints without end fills no disk and is not held up.
 */
export async function appendLog(
  ctx: Ctx,
  jobId: string,
  { token, offset, bytes }: { token: string | undefined; offset: number; bytes: Buffer },
): Promise<number> {
  if (token === undefined) throw unauthorized()
  for (;;) {
    const row = await addChunk(ctx, jobId, { token, offset, bytes })
    if (!row) throw unauthorized('the token is not that of this job')
    if (row.status !== 'running') throw conflict(`the job ${jobId} is no longer yours`)
    if (row.full) return offset + bytes.length
    if (row.size < offset) {
      const detail = `the log has ${row.size} bytes: what stands between them and ${offset} is missing`
      throw new AppError('range-not-satisfiable', [{ detail }])
    }
    if (row.size >= offset + bytes.length) return row.size
    // An earlier sending of the same bytes, whose answer got lost, was being stored meanwhile: now it is.
  }
}

/** One statement: it holds the job's row, so that nothing is added once the job has ended. */
async function addChunk(
  ctx: Ctx,
  jobId: string,
  { token, offset, bytes }: { token: string; offset: number; bytes: Buffer },
) {
  const limit = ctx.config.logLimit + SLACK_BYTES
  const cut = `\nThe log is cut off here: it is longer than ${ctx.config.logLimit} bytes. The run goes on.\n`
  const { rows } = await sql<{ status: string; size: number; full: boolean }>`
    with job as materialized (
      select phase_id, log_base, status from agent_jobs where id = ${jobId} and token_hash = ${tokenHash(token)} for share
    ), stored as materialized (
      select job.*, coalesce((select start_offset + octet_length(data) from log_chunks l where l.phase_id = job.phase_id
                               order by start_offset desc limit 1), 0) - log_base as size
        from job
    ), added as (
      insert into log_chunks (phase_id, start_offset, data)
      select phase_id, log_base + size,
             case when log_base + ${offset + bytes.length}::int8 <= ${limit}::int8
                  then substring(${bytes}::bytea from (size - ${offset}::int8 + 1)::int)
                  else substring(${bytes}::bytea from (size - ${offset}::int8 + 1)::int for (${limit}::int8 - log_base - size)::int)
                       || convert_to(${cut}, 'UTF8') end
        from stored
       where status = 'running' and size >= ${offset}::int8 and size < ${offset + bytes.length}::int8
         and log_base + size <= ${limit}::int8
          on conflict do nothing
      returning octet_length(data) as bytes
    )
    select status, total.size, log_base + total.size > ${limit}::int8 as full
      from stored, lateral (select stored.size + coalesce((select bytes from added), 0) as size) total`.execute(ctx.db)
  return rows[0]
}

/** Command lines drop the first three lines of an apply's log, which are the engine's name, platform and a note. */
const HEADER = '\n\n\n'

/** A line of the server itself at the end of a phase's log; `unlessTold` leaves it out where what came last holds it. */
export async function insertNotice(
  ctx: TransactionCtx,
  phaseId: string,
  text: string,
  { unlessTold = false }: { unlessTold?: boolean } = {},
) {
  await sql`
    insert into log_chunks (phase_id, start_offset, data)
    select p.id, coalesce(l.size, 0), convert_to(case when l.size is null then ${HEADER} else '' end || ${`\n${text}\n`}, 'UTF8')
      from phases p
      left join lateral (select start_offset + octet_length(data) as size,
                                 ${unlessTold}::boolean and position(convert_to(${text}, 'UTF8') in data) > 0 as told
                            from log_chunks
                          where phase_id = p.id order by start_offset desc limit 1) l on true
     where p.id = ${phaseId} and l.told is not true`.execute(ctx.db)
}
