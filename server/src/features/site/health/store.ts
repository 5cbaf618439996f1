import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

export async function pingDatabase(db: Db) {
  await sql`select 1`.execute(db)
}

type Database = { version: string; size: number; connections: number; max_connections: number; migration: string }

export async function describeDatabase(db: Db): Promise<Database> {
  const { rows } = await sql<Database>`
    select split_part(current_setting('server_version'), ' ', 1) as version,
           pg_database_size(current_database()) as size,
           (select count(*) from pg_stat_activity where datname = current_database()) as connections,
           current_setting('max_connections')::integer as max_connections,
           (select max(name) from schema_migrations) as migration`.execute(db)
  const [row] = rows
  if (!row) throw new Error('the database describes itself in one row')
  return row
}

/** Maximum number of pools that are shown. */
export const MAX_POOLS = 100
const MAX_COUNTED = 10_000

type PoolCounts = {
  id: string
  name: string
  organization: string | null
  online: number
  busy: number
  waiting: number
  oldest_waiting_at: Date | null
}

/** Counts agents online after `since` and waiting jobs of each pool that has any; the busiest pools come first. */
export async function countAgents(db: Db, { now, since }: { now: Date; since: Date }): Promise<PoolCounts[]> {
  const { rows } = await sql<PoolCounts>`
    with busy as (
      select agent_id, agent_pool_id from agent_jobs
       where status = 'running' and lease_expires_at > ${now} group by agent_id, agent_pool_id),
    online as (
      select a.agent_pool_id as pool_id, count(*) as online, count(b.agent_id) as busy
        from agents a left join busy b on b.agent_id = a.id
       where a.exited_at is null and (a.last_ping_at > ${since} or b.agent_id is not null) group by a.agent_pool_id),
    waiting as (
      select agent_pool_id as pool_id, count(*) as waiting, min(queued_at) as oldest
        from (select agent_pool_id, queued_at from agent_jobs where status = 'queued' limit ${sql.lit(MAX_COUNTED)}) j
       group by agent_pool_id)
    select pool_id as id, coalesce(p.name, pool_id) as name, o.name as organization, coalesce(online, 0) as online,
           coalesce(busy, 0) as busy, coalesce(waiting, 0) as waiting, oldest as oldest_waiting_at
      from online full join waiting using (pool_id)
      left join agent_pools p on p.id = pool_id left join organizations o on o.id = p.organization_id
     order by coalesce(waiting, 0) desc, coalesce(busy, 0) desc, p.name`.execute(db)
  return rows
}

type Engine = { product: string; version: string }

/** The engines of agents online after `since`, at most 100. */
export async function listEngines(db: Db, since: Date): Promise<Engine[]> {
  const { rows } = await sql<Engine>`
    select distinct e.product, e.version
      from agents a, jsonb_to_recordset(a.engines) as e(product text, version text)
     where a.exited_at is null and a.last_ping_at > ${since} order by 1, 2 limit 100`.execute(db)
  return rows
}
