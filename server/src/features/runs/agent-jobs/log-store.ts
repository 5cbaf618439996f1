import { sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'

/** Bytes of a log, at `offset` of the output of its job. Beyond `limit` bytes, `notice` ends the log. */
type Chunk = {
  jobId: string
  tokenHash: Buffer
  offset: number
  bytes: Buffer
  limit: number
  notice: string
  /** Applies lost after this still accept output. */
  lostAfter: Date
}

export type ChunkedLog = {
  open: boolean
  size: number
  full: boolean
  phase_id: string
  run_id: string
  workspace_id: string
  organization_id: string
}

/**
 * Stores the bytes of a chunk that are not stored yet. Returns whether the job accepts output (`open`), the size of its output, whether
 * the log is full, and its owner; undefined for another job's token. Locks the job's row, so that nothing is added once it has ended.
 */
export async function insertChunk(db: Db, chunk: Chunk) {
  const { rows } = await chunkInsert(chunk).execute(db)
  return rows[0]
}

export function chunkInsert({ jobId, tokenHash, offset, bytes, limit, notice, lostAfter }: Chunk) {
  const end = offset + bytes.length
  return sql<ChunkedLog>`
    with job as materialized (
      select phase_id, log_base, run_id, workspace_id, organization_id,
             status = 'running' or (kind = 'apply' and lost_at > ${lostAfter} and late_result_at is null) is true as open
        from agent_jobs where id = ${jobId} and token_hash = ${tokenHash} for share
    ), stored as materialized (
      select job.*, coalesce((select start_offset + octet_length(data) from log_chunks l where l.phase_id = job.phase_id
                               order by start_offset desc limit 1), 0) - log_base as size
        from job
    ), added as (
      insert into log_chunks (phase_id, start_offset, data)
      select phase_id, log_base + size,
             case when log_base + ${end}::int8 <= ${limit}::int8
                  then substring(${bytes}::bytea from (size - ${offset}::int8 + 1)::int)
                  else substring(${bytes}::bytea from (size - ${offset}::int8 + 1)::int for (${limit}::int8 - log_base - size)::int)
                       || convert_to(${notice}, 'UTF8') end
        from stored
       where open and size >= ${offset}::int8 and size < ${end}::int8
         and log_base + size <= ${limit}::int8
          on conflict do nothing
      returning octet_length(data) as bytes
    )
    select open, total.size, log_base + total.size > ${limit}::int8 as full, phase_id, run_id, workspace_id, organization_id
      from stored, lateral (select stored.size + coalesce((select bytes from added), 0) as size) total`
}

/** The CLI drops the first three lines of an apply's log: the engine's name, its platform and a note. */
const HEADER = '\n\n\n'

/** Appends a server notice to a phase's log, `unlessRepeated` in its last chunk; returns the appended bytes. */
export async function insertNotice(tx: Tx, phaseId: string, text: string, { unlessRepeated = false } = {}) {
  const { rows } = await sql<{ bytes: number }>`
    insert into log_chunks (phase_id, start_offset, data)
    select p.id, coalesce(l.size, 0), convert_to(case when l.size is null then ${HEADER} else '' end || ${`\n${text}\n`}, 'UTF8')
      from phases p
      left join lateral (select start_offset + octet_length(data) as size,
                                 ${unlessRepeated}::boolean and position(convert_to(${text}, 'UTF8') in data) > 0 as repeated
                            from log_chunks
                          where phase_id = p.id order by start_offset desc limit 1) l on true
     where p.id = ${phaseId} and l.repeated is not true
    returning octet_length(data) as bytes`.execute(tx)
  return rows[0]?.bytes ?? 0
}
