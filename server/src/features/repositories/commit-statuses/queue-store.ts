import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Claim, ClaimOptions } from '../../../deliveries/queue.ts'
import { connectionOf, isDue } from './store.ts'

/*
 * What is due at the host of a connection is one request of the queue. It has no column for the time at which it is due, since changes of
 * runs would wait for each other to set it: the time is that of the reports.
 */

/** Connections with reports, when the first report of each is due, and whether nobody sends them. Reads one row of each repository. */
const DUE = sql`
    with recursive reported as (
      (select s.repository_id as id from commit_statuses s where ${isDue} order by s.repository_id limit 1)
      union all
      select (select s.repository_id from commit_statuses s
               where ${isDue} and s.repository_id > reported.id order by s.repository_id limit 1)
        from reported where reported.id is not null)
    select connection.id, h.lease_expires_at,
           greatest(connection.due_at, coalesce(h.retry_at, '-infinity')) as due_at
      from (select ${connectionOf} as id, min(report.due_at) as due_at
              from reported
              join repositories r on r.id = reported.id
             cross join lateral (select s.due_at from commit_statuses s
                                  where s.repository_id = r.id and ${isDue} order by s.due_at limit 1) report
             group by 1) connection
      left join host_reports h on h.id = connection.id`

const dueTime = (condition: RawBuilder<boolean>) =>
  sql<Date | null>`(select min(due.due_at) from (${DUE}) due where ${condition})`

/** SQL expressions: when the first reports are due, and when the next ones after a time are. */
export const FIRST_DUE = dueTime(sql`true`)
export const nextDue = (now: Date) => dueTime(sql`due.due_at > ${now}`)

/** Leases the due reports of connections. */
export async function claimReports(db: Db, { now, leaseUntil, connections, busy }: ClaimOptions) {
  const free = connections.all - busy.length
  const { rows } = await sql<Claim>`
    insert into host_reports as h (id, lease_expires_at, attempts)
    select id, ${leaseUntil}, 1 from (
      select due.id from (${DUE}) due
       where due.due_at <= ${now} and (due.lease_expires_at is null or due.lease_expires_at <= ${now})
       order by due.due_at limit ${Math.max(0, free)}) claimed
     order by id
    on conflict (id) do update set lease_expires_at = excluded.lease_expires_at, attempts = h.attempts + 1
     where h.lease_expires_at is null or h.lease_expires_at <= ${now}
    returning h.id, h.attempts as attempt`.execute(db)
  return rows
}

function updateLease(db: Db, { id, attempt }: Claim) {
  return db.updateTable('host_reports').where('id', '=', id).where('attempts', '=', attempt)
}

/** Ends a lease after what was due has been sent. */
export async function releaseReports(db: Db, claim: Claim) {
  await updateLease(db, claim).set({ lease_expires_at: null, failures: 0, retry_at: null }).execute()
}

/** Ends a lease, and pauses the reports of the connection. Returns the end of the pause. */
export async function pauseReports(db: Db, claim: Claim, retryAt: (failures: number) => Date) {
  const row = await db.selectFrom('host_reports').select('failures').where('id', '=', claim.id).executeTakeFirst()
  const failures = row?.failures ?? 0
  const until = retryAt(failures)
  await updateLease(db, claim)
    .set({ lease_expires_at: null, failures: failures + 1, retry_at: until })
    .execute()
  return until
}

/** Ends a pause: the connection has other credentials. */
export async function resumeReports(db: Db, connectionId: string) {
  await db.updateTable('host_reports').set({ failures: 0, retry_at: null }).where('id', '=', connectionId).execute()
}
