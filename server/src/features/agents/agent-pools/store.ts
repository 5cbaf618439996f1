import type { AgentStatus } from '@groundstate/contract/agents'
import { FINAL_STATUSES } from '@groundstate/contract/run-status'
import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import { accessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { visibleProject, visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing, literals } from '../../../db/sql.ts'

/** A pool with its organization, and those of its workspaces and projects that the actor may see. */
export type AgentPoolRow = Awaited<ReturnType<typeof listAgentPools>>['rows'][number]
type Rule = Selectable<Schema['agent_pool_workspaces']>['rule']

/** The counts leave out agents that have deregistered; the ids are limited to what the actor may see. */
function selectPools(db: Db, actor: Actor, now: Date) {
  return db
    .selectFrom('agent_pools as pool')
    .innerJoin('organizations as o', 'o.id', 'pool.organization_id')
    .selectAll('pool')
    .select(['o.name as organization_name', 'o.id as organization_key'])
    .select([
      sql<Record<AgentStatus, number | undefined>>`(select coalesce(jsonb_object_agg(status, count), '{}') from (
          select ${agentStatus(now)} as status, count(*) from agents a
           where a.agent_pool_id = pool.id and a.exited_at is null group by 1) counted)`.as('agent_counts'),
      sql<string[]>`array(select w.id from workspaces w
        where w.agent_pool_id = pool.id and ${visibleWorkspace(actor)} order by w.name)`.as('workspace_ids'),
      workspacesOf(actor, 'allowed').as('allowed_workspace_ids'),
      workspacesOf(actor, 'excluded').as('excluded_workspace_ids'),
      sql<string[]>`array(select p.id from agent_pool_projects s join projects p on p.id = s.project_id
        where s.agent_pool_id = pool.id and ${visibleProject(actor)} order by p.id)`.as('allowed_project_ids'),
    ])
}

function workspacesOf(actor: Actor, rule: Rule) {
  return sql<string[]>`array(select w.id from agent_pool_workspaces s join workspaces w on w.id = s.workspace_id
    where s.agent_pool_id = pool.id and s.rule = ${sql.lit(rule)} and ${visibleWorkspace(actor)} order by w.id)`
}

export async function findAgentPools(db: Db, actor: Actor, { ids, now }: { ids: readonly string[]; now: Date }) {
  return selectPools(db, actor, now)
    .select(accessColumn(actor, { organizationId: sql`pool.organization_id` }).as('access'))
    .where(sql<boolean>`pool.id = any(${ids})`)
    .orderBy('pool.id')
    .execute()
}

export type PoolFilter = {
  q: string | undefined
  allowedWorkspace: string | undefined
  allowedProject: string | undefined
  sort: { name: 'name' | 'created-at'; descending: boolean }
}

export async function listAgentPools(
  db: Db,
  actor: Actor,
  { organizationId, page, now, filter }: { organizationId: string; page: Page; now: Date; filter: PoolFilter },
) {
  const conditions = [sql<boolean>`pool.organization_id = ${organizationId}`]
  if (filter.q !== undefined) conditions.push(sql`pool.name ilike ${containing(filter.q)}`)
  if (filter.allowedWorkspace !== undefined) conditions.push(usableBy(actor, organizationId, filter.allowedWorkspace))
  if (filter.allowedProject !== undefined) {
    conditions.push(sql`(pool.organization_scoped or exists (
      select from agent_pool_projects s join projects p on p.id = s.project_id
       where s.agent_pool_id = pool.id and lower(p.name) = lower(${filter.allowedProject}) and ${visibleProject(actor)}))`)
  }
  const where = sql<boolean>`${sql.join(conditions, sql` and `)}`
  const direction = filter.sort.descending ? 'desc' : 'asc'
  const list = selectPools(db, actor, now)
    .where(where)
    .orderBy(filter.sort.name === 'name' ? 'pool.name' : 'pool.created_at', direction)
    .orderBy('pool.id', direction)
  return readPaged(page, list, db.selectFrom('agent_pools as pool').where(where))
}

/** Pools that the workspace of that name may use, if the actor sees the workspace. */
function usableBy(actor: Actor, organizationId: string, workspaceName: string) {
  return sql<boolean>`exists (
    select from workspaces w
     where w.organization_id = ${organizationId} and lower(w.name) = lower(${workspaceName}) and ${visibleWorkspace(actor)}
       and not exists (select from agent_pool_workspaces s
                        where s.agent_pool_id = pool.id and s.workspace_id = w.id and s.rule = 'excluded')
       and (pool.organization_scoped
         or exists (select from agent_pool_workspaces s
                     where s.agent_pool_id = pool.id and s.workspace_id = w.id and s.rule = 'allowed')
         or exists (select from agent_pool_projects s where s.agent_pool_id = pool.id and s.project_id = w.project_id)))`
}

export async function insertAgentPool(db: Db, row: Insertable<Schema['agent_pools']>) {
  await db.insertInto('agent_pools').values(row).execute()
}

export async function updateAgentPool(db: Db, id: string, changes: Updateable<Schema['agent_pools']>) {
  await db.updateTable('agent_pools').set(changes).where('id', '=', id).execute()
}

export async function deleteAgentPool(db: Db, id: string) {
  await db.deleteFrom('agent_pools').where('id', '=', id).execute()
}

/** Replaces the workspaces of a rule. Keeps those that the actor may not see. */
export async function replaceWorkspaces(
  tx: Tx,
  actor: Actor,
  { poolId, rule, ids }: { poolId: string; rule: Rule; ids: readonly string[] },
) {
  await sql`delete from agent_pool_workspaces s using workspaces w where s.agent_pool_id = ${poolId} and s.rule = ${rule}
    and w.id = s.workspace_id and ${visibleWorkspace(actor)}`.execute(tx)
  await sql`insert into agent_pool_workspaces (agent_pool_id, workspace_id, rule)
            select ${poolId}, id, ${rule} from unnest(${ids}::text[]) id on conflict do nothing`.execute(tx)
}

/** Replaces the allowed projects. Keeps those that the actor may not see. */
export async function replaceProjects(tx: Tx, actor: Actor, poolId: string, ids: readonly string[]) {
  await sql`delete from agent_pool_projects s using projects p
    where s.agent_pool_id = ${poolId} and p.id = s.project_id and ${visibleProject(actor)}`.execute(tx)
  await sql`insert into agent_pool_projects (agent_pool_id, project_id)
            select ${poolId}, id from unnest(${ids}::text[]) id on conflict do nothing`.execute(tx)
}

/** Maximum number of named users of a pool, per kind. */
const MAX_NAMES = 5

/** Users of a pool of one kind: the first names visible to the actor, the number of visible ones, and the number of hidden ones. */
export type PoolUsage = { kind: string; names: readonly string[]; seen: number; hidden: number }

/** Lists the users of the pool by kind: workspaces, projects, the organization itself, run tasks, connections, and unfinished runs. */
export async function listPoolUsage(db: Db, actor: Actor, poolId: string) {
  const { rows } = await sql<PoolUsage>`
    select kind, coalesce((array_agg(name order by name) filter (where is_seen))[:${sql.lit(MAX_NAMES)}], '{}') as names,
           count(*) filter (where is_seen) as seen, count(*) filter (where not is_seen) as hidden
      from (
        select 1 as place, 'workspace' as kind, w.name, ${visibleWorkspace(actor)} as is_seen
          from workspaces w where w.agent_pool_id = ${poolId}
        union all select 2, 'project', p.name, ${visibleProject(actor)}
          from projects p where p.default_agent_pool_id = ${poolId}
        union all select 3, 'organization', name, true from organizations where default_agent_pool_id = ${poolId}
        union all select 4, 'run task', name, true from tasks where agent_pool_id = ${poolId}
        union all select 5, 'connection', coalesce(name, id), true from oauth_clients where agent_pool_id = ${poolId}
        union all select 6, 'run', r.id, ${visibleWorkspace(actor)}
          from runs r join workspaces w on w.id = r.workspace_id
          where r.organization_id = (select organization_id from agent_pools where id = ${poolId})
            and r.agent_pool_id = ${poolId} and r.status not in (${literals(FINAL_STATUSES)})) used
     group by place, kind order by place`.execute(db)
  return rows
}

export async function listTokens(db: Db, poolId: string, page: Page) {
  const all = db
    .selectFrom('tokens')
    .where('agent_pool_id', '=', poolId)
    .where('kind', '=', sql.lit('agent' as const))
  return readPaged(page, all.selectAll().orderBy('created_at').orderBy('id'), all)
}

export async function listTokenIds(db: Db, poolId: string) {
  const rows = await db.selectFrom('tokens').select('id').where('agent_pool_id', '=', poolId).execute()
  return rows.map(({ id }) => id)
}

export async function findOwnersAccount(db: Db, organizationId: string) {
  const row = await db
    .selectFrom('teams')
    .select('service_user_id')
    .where('organization_id', '=', organizationId)
    .where('is_owners', '=', sql.lit(true))
    .executeTakeFirst()
  return row?.service_user_id
}

/** Deletes built-in agents' tokens last used before `before`. */
export async function deleteIdleBuiltInTokens(db: Db, { poolId, before }: { poolId: string; before: Date }) {
  await db
    .deleteFrom('tokens')
    .where('agent_pool_id', '=', poolId)
    .where((eb) => eb(eb.fn.coalesce('last_used_at', 'created_at'), '<', before))
    .execute()
}

/** The pool of the built-in agents. It belongs to no organization, and no request reaches it. */
export const BUILT_IN_POOL_ID = 'apool-builtin'

/** Time without a heartbeat after which an agent counts as offline, in ms. */
const OFFLINE_AFTER_MS = 60_000

/** Agents whose last heartbeat is later than this are online. */
export function onlineSince(now: Date) {
  return new Date(now.getTime() - OFFLINE_AFTER_MS)
}

/** Time without a heartbeat after which an agent counts as errored, in ms. */
const ERRORED_AFTER_MS = 2 * 3_600_000

/** SQL condition: the agent `a` holds the lease of a job. */
export function isBusy(now: Date) {
  return sql<boolean>`exists (select from agent_jobs j
    where j.agent_id = a.id and j.status = 'running' and j.lease_expires_at > ${now})`
}

/**
 * SQL expression: the status of the agent `a`. A busy agent claims no work, and deregisters before its last jobs end; their
 * leases show that it is alive.
 */
export function agentStatus(now: Date) {
  return sql<AgentStatus>`case when ${isBusy(now)} then 'busy' when a.exited_at is not null then 'exited'
    when a.last_ping_at < ${new Date(now.getTime() - ERRORED_AFTER_MS)} then 'errored'
    when a.last_ping_at < ${onlineSince(now)} then 'unknown' else 'idle' end`
}
