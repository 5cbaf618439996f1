import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Schema } from '../db/schema.gen.ts'

/**
 * A table whose rows are requests to receivers. It has the columns `id`, `delivery_due_at` (null if nothing is to be sent),
 * `lease_expires_at`, `attempts` (increased by each claim, so that a process that lost its lease can be recognised) and `deadline_at`
 * (after which nothing is sent). Indexes: `(delivery_due_at)` and `(<receiver>, delivery_due_at)`, both where `delivery_due_at is not null`.
 */
export type QueueTable = {
  table: keyof Schema
  /** The column with the receiver's id; requests of a deleted receiver are claimed, too. */
  receiver: string
  /** Left join of the receiver with the id `queued.id`; empty if the expressions below need none. */
  join: RawBuilder<unknown>
  /** The organization whose share of connections the row `r` uses; null for a deleted receiver. */
  organization: RawBuilder<string | null>
  /** Whether requests to the receiver use connections of the process that sends them. */
  connects: RawBuilder<boolean>
  /** Whether the row `r` may be sent now, beyond being due; true by default. */
  isReady?: RawBuilder<boolean>
}

/** Maximum connections of a process. The last `reserved` ones are for organizations without a connection: their first requests have turn 1. */
export type Connections = { all: number; reserved: number; perOrganization: number; perReceiver: number }
/** Connections of this process in use. */
export type Busy = { receiverId: string; organizationId: string; count: number }

export type ClaimOptions = { now: Date; leaseUntil: Date; connections: Connections; busy: readonly Busy[] }

/** A delivery attempt leased to this process. A process that takes over the lease has a higher `attempt`. */
export type Claim = { id: string; attempt: number }

/** Number of examined requests per free connection if many receivers have due requests. */
const SPARE = 4

/**
 * Recursive common table expressions that end in `due (id)`: locked rows of the queue to send now, which the statement must lease.
 * Organizations take turns, and so do the receivers of an organization. Requests beyond a share of connections wait; requests sent by agents
 * need no connection. Only the first due requests of each receiver are read, as an index range over receiver and time. Rows are matched by
 * arrays of ids, since PostgreSQL would otherwise join all rows.
 */
export function dueRows(
  { table, receiver, join, organization, connects, isReady = sql`true` }: QueueTable,
  { now, connections, busy }: Omit<ClaimOptions, 'leaseUntil'>,
) {
  const { all, reserved, perOrganization, perReceiver } = connections
  const free = busy.reduce((left, { count }) => left - count, all)
  const column = <K extends keyof Busy>(name: K) => busy.map((connection) => connection[name])
  const [rows, receiverOf] = [sql.table(table), sql.ref(`r.${receiver}`)]
  const isDue = sql`r.delivery_due_at <= ${now} and r.deadline_at > ${now}
    and (r.lease_expires_at is null or r.lease_expires_at <= ${now}) and ${isReady}`
  return sql`busy as (
      select * from unnest(${column('receiverId')}::text[], ${column('organizationId')}::text[], ${column('count')}::integer[])
                      as busy (receiver_id, organization_id, count)),
    busy_organizations as (select organization_id, sum(count) as count from busy group by organization_id),
    queued as (
      (select ${receiverOf} as id from ${rows} r where r.delivery_due_at is not null order by ${receiverOf} limit 1)
      union all
      select (select ${receiverOf} from ${rows} r
               where r.delivery_due_at is not null and ${receiverOf} > queued.id order by ${receiverOf} limit 1)
        from queued where queued.id is not null),
    waiting as (
      select r.id, r.delivery_due_at, r.organization_id, ${connects} as connects,
             row_number() over (partition by queued.id order by r.delivery_due_at) + coalesce(busy.count, 0) as receiver_turn
        from queued
        ${join}
        left join busy on busy.receiver_id = queued.id and ${connects}
       cross join lateral (
         select r.id, r.delivery_due_at, ${organization} as organization_id from ${rows} r
          where (${receiverOf}, r.delivery_due_at) >= (queued.id, '-infinity'::timestamptz)
            and (${receiverOf}, r.delivery_due_at) <= (queued.id, ${now}::timestamptz) and ${isDue}
          order by ${receiverOf}, r.delivery_due_at
          limit least(case when ${connects} then ${perReceiver}::integer else ${perOrganization}::integer end,
                      1 + ${SPARE * all}::integer / (select count(*) from queued))) r),
    turns as (
      select waiting.*, row_number() over (partition by organization_id, connects order by receiver_turn, delivery_due_at)
                          + case when connects then coalesce(busy.count, 0) else 0 end as turn
        from waiting left join busy_organizations as busy using (organization_id)
       where receiver_turn <= ${perReceiver} or not connects),
    places as (
      select turns.*, row_number() over (partition by connects order by turn, delivery_due_at) as place
        from turns where turn <= ${perOrganization}),
    selected as (
      select id from places
       where not connects or place <= ${free}::integer - case turn when 1 then 0 else ${reserved}::integer end),
    due as (
      select r.id from ${rows} r where r.id = any(array(select id from selected)) and ${isDue}
         for update of r skip locked)`
}

/** SQL expression: when the first request of a queue is due. */
export function firstDue({ table }: Pick<QueueTable, 'table'>) {
  return sql<Date | null>`(select delivery_due_at from ${sql.table(table)}
    where delivery_due_at is not null order by delivery_due_at limit 1)`
}

/** SQL expression: when the next request after `now` is due. */
export function nextDue({ table }: Pick<QueueTable, 'table'>, now: Date) {
  return sql<Date | null>`(select delivery_due_at from ${sql.table(table)}
    where delivery_due_at > ${now} order by delivery_due_at limit 1)`
}

/** The time that an expression selects; undefined for none. */
export async function findTime(db: Db, time: RawBuilder<Date | null>) {
  const { rows } = await sql<{ due: Date | null }>`select ${time} as due`.execute(db)
  return rows[0]?.due ?? undefined
}

/** Renews leases that no other process has taken over; returns the ids of these. */
export async function renewLeases(
  db: Db,
  { table }: Pick<QueueTable, 'table'>,
  { claims, until }: { claims: readonly Claim[]; until: Date },
) {
  const { rows } = await sql<{ id: string }>`update ${sql.table(table)} r set lease_expires_at = ${until}
      from unnest(${claims.map(({ id }) => id)}::text[], ${claims.map(({ attempt }) => attempt)}::integer[]) as c (id, attempt)
     where r.id = c.id and r.attempts = c.attempt and r.lease_expires_at is not null
    returning r.id`.execute(db)
  return rows.map(({ id }) => id)
}
