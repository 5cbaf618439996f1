import type { AgentStatus } from '@groundstate/contract/agents'
import { type Insertable, sql } from 'kysely'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'
import { agentStatus, isBusy } from '../agent-pools/store.ts'

/** Whether an agent was online after `since` or holds a job: a fully loaded agent claims nothing. */
export function isPresent({ since, now }: { since: Date; now: Date }) {
  return sql<boolean>`(a.last_ping_at > ${since} or ${isBusy(now)})`
}

/** An agent with its status. */
export type AgentRow = NonNullable<Awaited<ReturnType<typeof findAgent>>>

export async function findAgent(db: Db, id: string, now: Date) {
  return db
    .selectFrom('agents as a')
    .selectAll('a')
    .select(agentStatus(now).as('status'))
    .where('a.id', '=', id)
    .executeTakeFirst()
}

/** The columns of an agent in a pool that a claim needs. */
export const findClaimingAgent = lookup(['id', 'poolId'], (db, { id, poolId }) =>
  db
    .selectFrom('agents')
    .select(['id', 'name', 'agent_pool_id', 'last_ping_at', 'exited_at', 'engines', 'downloads_engines'])
    .where('id', '=', id)
    .where('agent_pool_id', '=', poolId),
)

type AgentSort = { name: 'name' | 'created-at'; descending: boolean }

export type AgentListInput = {
  page: Page
  q: string | undefined
  since: Date | undefined
  statuses: readonly AgentStatus[] | undefined
  sort: AgentSort
}

export async function listAgents(
  db: Db,
  { poolId, page, q, since, statuses, sort, now }: AgentListInput & { poolId: string; now: Date },
) {
  let all = db.selectFrom('agents as a').where('a.agent_pool_id', '=', poolId)
  if (q !== undefined) all = all.where('a.name', 'ilike', containing(q))
  if (since !== undefined) all = all.where('a.last_ping_at', '>=', since)
  if (statuses !== undefined) all = all.where(sql<boolean>`${agentStatus(now)} = any(${statuses})`)
  const direction = sort.descending ? 'desc' : 'asc'
  const list = all
    .selectAll('a')
    .select(agentStatus(now).as('status'))
    .orderBy(sort.name === 'name' ? 'a.name' : 'a.created_at', direction)
    .orderBy('a.id', direction)
  return readPaged(page, list, all)
}

/** The running jobs of agents, oldest first. */
export async function listCurrentJobs(db: Db, { agentIds, now }: { agentIds: readonly string[]; now: Date }) {
  if (agentIds.length === 0) return []
  return db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .select(['j.agent_id', 'j.kind', 'j.run_id', 'j.leased_at', 'r.workspace_id'])
    .where(sql<boolean>`j.agent_id = any(${agentIds})`)
    .where('j.status', '=', sql.lit('running' as const))
    .where('j.lease_expires_at', '>', now)
    .orderBy('j.leased_at')
    .orderBy('j.id')
    .execute()
}

/** Finds an agent, even an exited one. Locks its row, so that only one of two copies of a work directory gets the id. */
export async function findPoolAgent(tx: Tx, { id, poolId }: { id: string; poolId: string }) {
  return tx
    .selectFrom('agents')
    .select(['id', 'name', 'ip_address', 'token_id', 'last_ping_at', 'exited_at'])
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

/** The agents of an organization that have not exited. Locks the organization's row against concurrent registrations. */
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

/** The latest agent with the name that has exited or was offline since `since`. */
export async function findOfflineAgent(db: Db, { poolId, name, since }: { poolId: string; name: string; since: Date }) {
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

export type AgentOwner = { id: string; agent_pool_id: string; organization_id: string | null }

/** Selects the pool and organization of agents. */
export function selectOwners(db: Db, ids: readonly string[]) {
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

/** Deletes up to `limit` agents without a heartbeat since `before` and without a job. Returns their owners. */
export async function deleteOfflineAgents(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { rows } = await sql<AgentOwner>`
    delete from agents using agent_pools p where p.id = agent_pool_id and agents.id in (
      select a.id from agents a
       where a.last_ping_at < ${before} and coalesce(a.exited_at < ${before}, true)
         and not exists (select from agent_jobs j where j.agent_id = a.id and j.status = 'running')
       order by a.id limit ${limit} for update skip locked)
    returning agents.id, agent_pool_id, p.organization_id`.execute(db)
  return rows
}

/** Marks agents that registered with one of these tokens as exited; returns their ids. */
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
