import { type Insertable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import type { Schema } from '../../../db/schema.gen.ts'

/** Agents that may be lost with a request before it fails. */
export const MAX_LEASES = 3

export type ClaimingAgent = { id: string; name: string; agent_pool_id: string }

/** Inserts a request; undefined if its evaluation, or the run of its trial, has one already. */
export async function insertPolicyRequest(tx: Tx, row: Insertable<Schema['policy_requests']>) {
  return tx
    .insertInto('policy_requests')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst()
}

const isFree = (now: Date) =>
  sql`(q.lease_expires_at is null or (q.lease_expires_at <= ${now} and q.leases < ${sql.lit(MAX_LEASES)}))`

/** SQL expression: ids of the pools in which a request waits for an agent. */
export function poolsWithRequests(poolIds: readonly string[], now: Date) {
  return sql<string[]>`array(select pool.id from unnest(${poolIds}::text[]) pool (id)
    where exists (select from policy_requests q where q.agent_pool_id = pool.id and ${isFree(now)}))`
}

type Lease = { agent: ClaimingAgent; tokenHash: Buffer; now: Date; expiresAt: Date }
type Leased = {
  id: string
  request: Buffer
  time_limit_ms: number
  agent_os: string
  agent_arch: string
  /** The run whose policies they are. */
  run: { id: string; workspace_id: string; organization_id: string } | null
}

/**
 * Leases the oldest request of the pool, or one whose agent was lost; undefined for none, `exited` for an agent that has exited. Requests of
 * trials come last.
 */
export async function leaseNextRequest(db: Db, { agent, tokenHash, now, expiresAt }: Lease) {
  const hasAgent = sql`exists (select from agents a where a.id = ${agent.id} and a.exited_at is null)`
  const { rows } = await sql<{ has_agent: boolean } & (Leased | { id: null })>`with next as (
      select id from policy_requests q
       where q.agent_pool_id = ${agent.agent_pool_id} and ${isFree(now)} and ${hasAgent}
       order by policy_trial_run_id is not null, seq limit 1 for update skip locked),
    leased as (
      update policy_requests q
         set agent_name = ${agent.name}, token_hash = ${tokenHash}, leased_at = ${now}, lease_expires_at = ${expiresAt},
             leases = q.leases + 1
        from next where q.id = next.id
      returning q.id, q.request, q.time_limit_ms, (
        select jsonb_build_object('id', r.id, 'workspace_id', r.workspace_id, 'organization_id', r.organization_id)
          from policy_evaluations e join runs r on r.id = e.run_id where e.id = q.policy_evaluation_id) as run)
    select ${hasAgent} as has_agent, a.os as agent_os, a.arch as agent_arch, leased.*
      from (select) one left join leased on true left join agents a on a.id = ${agent.id}`.execute(db)
  const [row] = rows
  if (row && row.id !== null) return row
  return row?.has_agent === false ? 'exited' : undefined
}

/** Returns a request that its agent has not received. */
export async function requeueRequest(db: Db, id: string) {
  await sql`update policy_requests
      set agent_name = null, token_hash = null, leased_at = null, lease_expires_at = null, leases = leases - 1
    where id = ${id} and lease_expires_at is not null`.execute(db)
}

type Renewal = { id: string; hash: Buffer; now: Date; expiresAt: Date; marginMs: number }

/** Renews a lease; returns whether it did. An evaluation that takes longer than its limit is not renewed. */
export async function renewLease(db: Db, { id, hash, now, expiresAt, marginMs }: Renewal) {
  const { rows } = await sql`update policy_requests set lease_expires_at = ${expiresAt}
    where id = ${id} and token_hash = ${hash}
      and leased_at + (time_limit_ms + ${marginMs}::integer) * interval '1 ms' > ${now}
    returning id`.execute(db)
  return rows.length > 0
}

/** A leased request, by the hash of its token in hex. */
export const findTakenRequest = lookup(['id', 'hash'], (db, { id, hash }) =>
  db
    .selectFrom('policy_requests')
    .select(['id', 'request', 'policy_evaluation_id', 'policy_trial_run_id'])
    .where('id', '=', id)
    .where('token_hash', '=', sql<Buffer>`decode(${hash}, 'hex')`),
)

/** A request with the name of its pool, and whether an agent of the pool that evaluates policies has been heard of since `pingedAfter`. */
export async function findRequest(db: Db, { id, pingedAfter }: { id: string; pingedAfter: Date }) {
  return db
    .selectFrom('policy_requests as q')
    .innerJoin('agent_pools as p', 'p.id', 'q.agent_pool_id')
    .select(['q.id', 'q.request', 'q.policy_evaluation_id', 'q.agent_name', 'q.lease_expires_at', 'q.leases'])
    .select(['q.created_at', 'q.policy_trial_run_id', 'q.agent_pool_id', 'p.name as pool_name'])
    .select(
      sql<boolean>`exists (select from agents a where a.agent_pool_id = q.agent_pool_id and a.exited_at is null
          and a.last_ping_at > ${pingedAfter} and 'policy' = any(a.accepts))`.as('has_agent'),
    )
    .where('q.id', '=', id)
    .executeTakeFirst()
}

/** Deletes a request, with `lease` only while its lease is that one. Returns whether it did. */
export async function deletePolicyRequest(tx: Tx, id: string, lease: { expiresAt: Date | null } | undefined) {
  const isUnchanged = lease ? sql`lease_expires_at is not distinct from ${lease.expiresAt}` : sql`true`
  const { rows } = await sql`delete from policy_requests where id = ${id} and ${isUnchanged} returning id`.execute(tx)
  return rows.length > 0
}

/** Deletes the requests of a trial; agents drop them. */
export async function deleteTrialRequests(tx: Tx, trialId: string) {
  await sql`delete from policy_requests q using policy_trial_runs r
     where r.id = q.policy_trial_run_id and r.policy_trial_id = ${trialId}`.execute(tx)
}
