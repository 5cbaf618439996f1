import { type Insertable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import type { Schema } from '../../../db/schema.gen.ts'

/** Whether an agent holds the lease of a job. */
function isBusy(now: Date) {
  return sql<boolean>`exists (select from agent_jobs j
    where j.agent_id = a.id and j.status = 'running' and j.lease_expires_at > ${now})`
}

/** Whether an agent is online after `since`, or at work: one that has all the jobs that it takes asks for none. */
export function isPresent({ since, now }: { since: Date; now: Date }) {
  return sql<boolean>`(a.last_ping_at > ${since} or ${isBusy(now)})`
}

/** An agent, and whether it has a job. */
export type AgentRow = NonNullable<Awaited<ReturnType<typeof findAgent>>>

export async function findAgent(db: Db, id: string, now: Date) {
  return db
    .selectFrom('agents as a')
    .selectAll('a')
    .select(isBusy(now).as('is_busy'))
    .where('a.id', '=', id)
    .executeTakeFirst()
}

/** The part of an agent of that pool that a claim needs. */
export const findClaimingAgent = lookup(['id', 'poolId'], (db, { id, poolId }) =>
  db
    .selectFrom('agents')
    .select(['id', 'name', 'agent_pool_id', 'last_ping_at', 'exited_at', 'engines', 'downloads_engines'])
    .where('id', '=', id)
    .where('agent_pool_id', '=', poolId),
)

export type AgentSort = { name: 'name' | 'created-at'; descending: boolean }

export async function listAgents(
  db: Db,
  {
    poolId,
    page,
    since,
    sort,
    now,
  }: { poolId: string; page: Page; since: Date | undefined; sort: AgentSort; now: Date },
) {
  const query = db
    .selectFrom('agents as a')
    .where('a.agent_pool_id', '=', poolId)
    .$if(since !== undefined, (query) => query.where('a.last_ping_at', '>=', since ?? new Date(0)))
  const direction = sort.descending ? 'desc' : 'asc'
  const rows = await query
    .selectAll('a')
    .select(isBusy(now).as('is_busy'))
    .orderBy(sort.name === 'name' ? 'a.name' : 'a.created_at', direction)
    .orderBy('a.id', direction)
    .limit(page.size)
    .offset(pageOffset(page))
    .execute()
  const count = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { rows, total: count.total }
}

/** The jobs that agents work on, the oldest first. */
export type CurrentJob = Awaited<ReturnType<typeof listCurrentJobs>>[number]

export async function listCurrentJobs(db: Db, { agentIds, now }: { agentIds: readonly string[]; now: Date }) {
  if (agentIds.length === 0) return []
  return db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .select(['j.agent_id', 'j.kind', 'j.run_id', 'j.leased_at', 'r.workspace_id'])
    .where('j.agent_id', 'in', agentIds)
    .where('j.status', '=', sql.lit('running' as const))
    .where('j.lease_expires_at', '>', now)
    .orderBy('j.leased_at')
    .orderBy('j.id')
    .execute()
}

/** The pool's agent of that id, also when it has said goodbye. Locks its row: of two that bring its id from copies, one gets it. */
export async function findPoolAgent(tx: Tx, { id, poolId }: { id: string; poolId: string }) {
  return tx
    .selectFrom('agents')
    .select(['id', 'name', 'ip_address', 'last_ping_at', 'exited_at'])
    .where('id', '=', id)
    .where('agent_pool_id', '=', poolId)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export async function findPoolName(db: Db, id: string) {
  const row = await db.selectFrom('agent_pools').select('name').where('id', '=', id).executeTakeFirst()
  return row?.name
}

export async function findOrganizationPlan(db: Db, organizationId: string) {
  return db.selectFrom('organizations').select(['name', 'plan']).where('id', '=', organizationId).executeTakeFirst()
}

/**
 * The agents of an organization that have not exited, and whether each is present: online after `since`, or at work.
 * Locks the organization's row against other registrations.
 */
export async function listRegisteredAgents(
  tx: Tx,
  { organizationId, since, now }: { organizationId: string; since: Date; now: Date },
) {
  await tx.selectFrom('organizations').select('id').where('id', '=', organizationId).forNoKeyUpdate().execute()
  return tx
    .selectFrom('agents as a')
    .innerJoin('agent_pools as p', 'p.id', 'a.agent_pool_id')
    .select(['a.id', 'a.name', 'a.ip_address', 'a.agent_pool_id'])
    .select(isPresent({ since, now }).as('is_present'))
    .where('p.organization_id', '=', organizationId)
    .where('a.exited_at', 'is', null)
    .execute()
}

/** The last agent of that name that has exited or was silent since `since`. */
export async function findGoneAgent(db: Db, { poolId, name, since }: { poolId: string; name: string; since: Date }) {
  return db
    .selectFrom('agents')
    .selectAll()
    .where('agent_pool_id', '=', poolId)
    .where('name', '=', name)
    .where((eb) => eb.or([eb('exited_at', 'is not', null), eb('last_ping_at', '<', since)]))
    .orderBy('last_ping_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export async function insertAgent(db: Db, row: Insertable<Schema['agents']>) {
  await db.insertInto('agents').values(row).execute()
}

export async function reviveAgent(db: Db, { id, ...changes }: Omit<Insertable<Schema['agents']>, 'created_at'>) {
  await db
    .updateTable('agents')
    .set({ ...changes, exited_at: null })
    .where('id', '=', id)
    .execute()
}

/** Returns the agents whose last heartbeat was before `offlineBefore`. */
export async function touchAgents(
  db: Db,
  ids: readonly string[],
  { now, offlineBefore }: { now: Date; offlineBefore: Date },
) {
  const { rows } = await sql<{ id: string }>`
    with known as (select id, last_ping_at from agents where id = any(${ids}) order by id for no key update),
    touched as (update agents a set last_ping_at = ${now} from known where a.id = known.id)
    select id from known where last_ping_at < ${offlineBefore}`.execute(db)
  return rows.map(({ id }) => id)
}

export type AgentPlace = { id: string; agent_pool_id: string; organization_id: string | null }

/** Where agents belong. */
export function selectPlaces(db: Db, ids: readonly string[]) {
  return db
    .selectFrom('agents as a')
    .innerJoin('agent_pools as p', 'p.id', 'a.agent_pool_id')
    .select(['a.id', 'a.agent_pool_id', 'p.organization_id'])
    .where(sql<boolean>`a.id = any(${ids})`)
}

export async function markExited(db: Db, id: string, now: Date) {
  await db.updateTable('agents').set({ exited_at: now }).where('id', '=', id).where('exited_at', 'is', null).execute()
}

export async function deleteAgent(db: Db, id: string) {
  await db.deleteFrom('agents').where('id', '=', id).execute()
}

/** Deletes up to `limit` agents that have sent no heartbeat since a moment and have no job. Returns where they belonged. */
export async function deleteSilentAgents(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { rows } = await sql<AgentPlace>`
    delete from agents using agent_pools p where p.id = agent_pool_id and agents.id in (
      select a.id from agents a
       where a.last_ping_at < ${before} and coalesce(a.exited_at < ${before}, true)
         and not exists (select from agent_jobs j where j.agent_id = a.id and j.status = 'running')
       order by a.id limit ${limit} for update skip locked)
    returning agents.id, agent_pool_id, p.organization_id`.execute(db)
  return rows
}

/** Marks the agents that have registered with one of these tokens as exited; returns their ids. */
export async function markTokensExited(tx: Tx, tokenIds: readonly string[], now: Date) {
  const rows = await tx
    .updateTable('agents')
    .set({ exited_at: now })
    .where('token_id', '=', sql<string>`any(${tokenIds})`)
    .where('exited_at', 'is', null)
    .returning('id')
    .execute()
  return rows.map(({ id }) => id)
}
