import type { RequestKind } from '@groundstate/contract/agent-requests'
import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import type { Schema } from '../../../db/schema.gen.ts'

type Row = Selectable<Schema['task_requests']>
export type Kind = Row['kind']
type NewRequest = Insertable<Schema['task_requests']> & { agent_pool_id: string; kind: Kind }

/** Inserts a request; undefined if its result already has one. Deletes requests created before `abandonedBefore`, whose processes died. */
export async function insertTaskRequest(db: Db, row: NewRequest, abandonedBefore: Date) {
  const { rows } = await sql<{ id: string }>`with dead as (
      delete from task_requests where created_at < ${abandonedBefore}),
    added as (
      insert into task_requests (id, agent_pool_id, kind, task_result_id, request, timeout_ms, claim_until, created_at)
      values (${row.id}, ${row.agent_pool_id}, ${row.kind}, ${row.task_result_id}, ${row.request}, ${row.timeout_ms},
              ${row.claim_until}, ${row.created_at})
      on conflict (task_result_id) do nothing
      returning id)
    select id from added`.execute(db)
  return rows[0]
}

export async function lockRequestOf(tx: Tx, resultId: string) {
  return tx
    .selectFrom('task_requests')
    .select(['id', 'agent_pool_id'])
    .where('task_result_id', '=', resultId)
    .forUpdate()
    .executeTakeFirst()
}

export async function deleteTaskRequest(db: Db, id: string) {
  await db.deleteFrom('task_requests').where('id', '=', id).execute()
}

/** The progress of a request. `is_wanted` is false once its result has ended. */
export const findProgress = lookup(['id'], (db, { id }) =>
  db
    .selectFrom('task_requests as q')
    .leftJoin('task_results as r', 'r.id', 'q.task_result_id')
    .select([
      'q.status',
      'q.claim_until',
      'q.lease_expires_at',
      'q.leased_at',
      'q.leases',
      'q.agent_name',
      'q.response',
    ])
    .select(sql<boolean>`coalesce(r.status = 'running', true)`.as('is_wanted'))
    .where('q.id', '=', id),
)
export type Progress = NonNullable<Awaited<ReturnType<typeof findProgress>>>

/** The body of a long response. Apart from the progress, which is read often. */
export async function findContent(db: Db, id: string) {
  const row = await db.selectFrom('task_requests').select('content').where('id', '=', id).executeTakeFirst()
  return row?.content ?? null
}

/** Deletes a request if its progress is unchanged; returns whether it did. */
export async function withdrawTaskRequest(db: Db, id: string, { status, lease_expires_at }: Progress) {
  const { rows } = await sql<{ id: string }>`delete from task_requests
     where id = ${id} and status = ${status} and lease_expires_at is not distinct from ${lease_expires_at}
    returning id`.execute(db)
  return rows.length > 0
}

type Free = { kinds: readonly Kind[]; now: Date }

const isFree = ({ kinds, now }: Free) => sql`q.status = 'queued' and q.claim_until > ${now} and q.kind = any(${kinds})
  and not exists (select from task_results r where r.id = q.task_result_id and r.status <> 'running')`

/** SQL expression: ids of the pools in which a request of the kinds waits for an agent. */
export function poolsWithRequests(poolIds: readonly string[], free: Free) {
  return sql<string[]>`array(select pool.id from unnest(${poolIds}::text[]) pool (id)
    where exists (select from task_requests q where q.agent_pool_id = pool.id and ${isFree(free)}))`
}

type Lease = Free & { agent: ClaimingAgent; tokenHash: Buffer; marginMs: number }

/** Leases the oldest request of the pool to an agent, skipping locked ones; undefined for none, `exited` for an agent that has exited. */
export async function leaseNextRequest(db: Db, { agent, tokenHash, marginMs, ...free }: Lease) {
  const { now } = free
  const hasAgent = sql`exists (select from agents a where a.id = ${agent.id} and a.exited_at is null)`
  const { rows } = await sql<
    { has_agent: boolean } & (Pick<Row, 'id' | 'kind' | 'request' | 'timeout_ms'> | { id: null })
  >`with next as (
      select id from task_requests q
       where agent_pool_id = ${agent.agent_pool_id} and ${isFree(free)} and ${hasAgent}
       order by seq limit 1 for update skip locked),
    leased as (
      update task_requests q
         set status = 'leased', agent_name = ${agent.name}, token_hash = ${tokenHash}, leased_at = ${now},
             lease_expires_at = ${now}::timestamptz + (q.timeout_ms + ${marginMs}::integer) * interval '1 ms',
             leases = q.leases + 1
        from next where q.id = next.id
      returning q.id, q.kind, q.request, q.timeout_ms)
    select ${hasAgent} as has_agent, leased.* from (select) one left join leased on true`.execute(db)
  const [row] = rows
  if (row && row.id !== null) return row
  return row?.has_agent === false ? 'exited' : undefined
}

/** Returns a request that its agent has not received. */
export async function requeueRequest(db: Db, id: string) {
  await sql`update task_requests
      set status = 'queued', agent_name = null, token_hash = null, leased_at = null, lease_expires_at = null,
          leases = leases - 1
    where id = ${id} and status = 'leased'`.execute(db)
}

/** A leased or answered request, by the hash of its token in hex. */
export const findTakenRequest = lookup(['id', 'hash'], (db, { id, hash }) =>
  db
    .selectFrom('task_requests')
    .select(['id', 'kind', 'status'])
    .where('id', '=', id)
    .where('token_hash', '=', sql<Buffer>`decode(${hash}, 'hex')`),
)

export async function recordResponse(db: Db, id: string, response: Buffer) {
  await sql`update task_requests set status = 'answered', response = ${response}
    where id = ${id} and status = 'leased'`.execute(db)
}

export async function recordContent(db: Db, id: string, content: Buffer) {
  await sql`update task_requests set content = ${content} where id = ${id} and status = 'leased'`.execute(db)
}

export async function recordTaskClaims(db: Db, agentIds: readonly string[], now: Date) {
  await sql`insert into task_claims (agent_id, agent_pool_id, claimed_at)
    select id, agent_pool_id, ${now} from agents where id = any(${agentIds})
    on conflict (agent_id) do update set claimed_at = excluded.claimed_at
     where task_claims.claimed_at <= ${new Date(now.getTime() - NOTE_MS)}`.execute(db)
}

type OnlineSince = { claimedAfter: Date; pingedAfter: Date }

/** Whether an agent of the pool that accepts the kind is online. An agent that claimed before may have registered again without it. */
export async function hasAgent(
  db: Db,
  { poolId, kind }: { poolId: string; kind: RequestKind },
  { claimedAfter, pingedAfter }: OnlineSince,
) {
  const { rows } = await sql`select from task_claims c join agents a on a.id = c.agent_id
     where c.agent_pool_id = ${poolId} and c.claimed_at > ${claimedAfter} and a.last_ping_at > ${pingedAfter}
       and a.exited_at is null and ${kind} = any(a.accepts)
     limit 1`.execute(db)
  return rows.length > 0
}

/** Minimum interval between stored claim times of an agent, in ms. */
const NOTE_MS = 10_000
/** Time without a claim after which an agent counts as offline, in ms: a long poll takes up to a minute. */
const OFFLINE_AFTER_MS = 60_000 + NOTE_MS

export function claimedSince(now: Date) {
  return new Date(now.getTime() - OFFLINE_AFTER_MS)
}

export type ClaimingAgent = { id: string; name: string; agent_pool_id: string }
