import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** Keeps a request claimable, and its lease renewable, until `until`. */
export async function keepGitRequest(db: Db, id: string, until: Date) {
  await sql`update task_requests set claim_until = ${until} where id = ${id}`.execute(db)
}

/** Requeues a request whose lease has expired, if it was not renewed meanwhile. Returns whether it did. */
export async function requeueExpired(db: Db, id: string, now: Date) {
  const { rows } = await sql`update task_requests
      set status = 'queued', agent_name = null, token_hash = null, leased_at = null, lease_expires_at = null
    where id = ${id} and status = 'leased' and lease_expires_at <= ${now}
    returning id`.execute(db)
  return rows.length > 0
}

type Renewal = { id: string; hash: Buffer; now: Date }

/** Renews the lease of a request whose result somebody waits for. Returns whether it did; a reported result needs no lease. */
export async function renewLease(db: Db, { id, hash, now }: Renewal) {
  const { rows } = await sql`update task_requests
      set lease_expires_at = ${now}::timestamptz + timeout_ms * interval '1 ms'
    where id = ${id} and token_hash = ${hash} and kind = 'git'
      and (status = 'answered' or (status = 'leased' and claim_until > ${now}))
    returning id`.execute(db)
  return rows.length > 0
}

export async function findSealedWork(db: Db, id: string) {
  return db.selectFrom('task_requests').select(['id', 'request']).where('id', '=', id).executeTakeFirst()
}
