import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import { connectionOf, isDue } from './store.ts'

/** The reports of a connection, leased to one call. Another one may have them once the lease has ended. */
export type Lease = { connectionId: string; holder: string }

/** Leases the reports of a connection to the caller; false if another has them, or if they are paused. */
export async function leaseReports(
  db: Db,
  { connectionId, holder }: Lease,
  { now, until }: { now: Date; until: Date },
) {
  const { rows } = await sql`
    insert into host_reports as h (connection_id, holder, leased_until) values (${connectionId}, ${holder}, ${until})
    on conflict (connection_id) do update set holder = excluded.holder, leased_until = excluded.leased_until
     where h.leased_until <= ${now} and (h.retry_at is null or h.retry_at <= ${now})
    returning connection_id`.execute(db)
  return rows.length > 0
}

function updateLease(db: Db, { connectionId, holder }: Lease) {
  return db.updateTable('host_reports').where('connection_id', '=', connectionId).where('holder', '=', holder)
}

/** False if another has the lease. */
export async function renewLease(db: Db, lease: Lease, until: Date) {
  const { numUpdatedRows } = await updateLease(db, lease).set({ leased_until: until }).executeTakeFirst()
  return numUpdatedRows > 0n
}

/** When another's lease ends, if the caller is to continue then; for one caller at a time. */
export async function awaitLease(db: Db, connectionId: string, now: Date) {
  const row = await db
    .updateTable('host_reports')
    .set((eb) => ({ awaited_until: eb.ref('leased_until') }))
    .where('connection_id', '=', connectionId)
    .where('leased_until', '>', now)
    .where((eb) => eb.or([eb('awaited_until', 'is', null), eb('awaited_until', '<=', now)]))
    .returning('leased_until')
    .executeTakeFirst()
  return row?.leased_until
}

/** Ends the lease after everything was sent. */
export async function releaseReports(db: Db, lease: Lease, now: Date) {
  await updateLease(db, lease).set({ leased_until: now, failures: 0, retry_at: null }).execute()
}

/** Ends the lease, and pauses the reports of the connection. Returns the end of the pause. */
export async function pauseReports(
  db: Db,
  lease: Lease,
  { now, retryAt }: { now: Date; retryAt: (failures: number) => Date },
) {
  const row = await db
    .selectFrom('host_reports')
    .select('failures')
    .where('connection_id', '=', lease.connectionId)
    .executeTakeFirst()
  const failures = row?.failures ?? 0
  const until = retryAt(failures)
  await updateLease(db, lease)
    .set({ leased_until: now, failures: failures + 1, retry_at: until })
    .execute()
  return until
}

/** Ends a pause: the connection has other credentials. */
export async function resumeReports(db: Db, connectionId: string) {
  await db
    .updateTable('host_reports')
    .set({ failures: 0, retry_at: null })
    .where('connection_id', '=', connectionId)
    .execute()
}

export async function hasDueReports(db: Db, connectionId: string) {
  const { rows } = await sql`select from commit_statuses s join repositories r on r.id = s.repository_id
    where ${connectionOf} = ${connectionId} and ${isDue} limit 1`.execute(db)
  return rows.length > 0
}

/** Connections with due reports that nobody has leased and that are not paused. */
export async function listIdleConnections(db: Db, now: Date) {
  const { rows } = await sql<{ id: string }>`
    select distinct ${connectionOf} as id
      from commit_statuses s
      join repositories r on r.id = s.repository_id
      left join host_reports h on h.connection_id = ${connectionOf}
     where ${isDue} and (h.connection_id is null
       or (h.leased_until <= ${now} and (h.retry_at is null or h.retry_at <= ${now})))`.execute(db)
  return rows.map(({ id }) => id)
}
