import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Actor } from '../../auth/actor.ts'
import { factsColumn } from '../../auth/facts.ts'
import type { Db } from '../../db/db.ts'
import type { Schema } from '../../db/schema.gen.ts'
import { type Page, pageOffset } from '../../http/pagination.ts'

export type AgentPoolRow = Selectable<Schema['agent_pools']>

/** Pools with how many agents they have that were heard of since `since`, and what they are for. */
function selectPools(db: Db, since: Date) {
  return db
    .selectFrom('agent_pools as p')
    .innerJoin('organizations as o', 'o.id', 'p.organization_id')
    .selectAll('p')
    .select(['o.name as organization_name', 'o.id as organization_key'])
    .select([
      sql<number>`(select count(*) from agents a
          where a.agent_pool_id = p.id and a.exited_at is null and a.last_ping_at > ${since})`.as('agent_count'),
      sql<string[]>`array(select w.id from workspaces w where w.agent_pool_id = p.id order by w.name)`.as(
        'workspace_ids',
      ),
      scope('agent_pool_workspaces', 'workspace_id', 'allowed').as('allowed_workspace_ids'),
      scope('agent_pool_workspaces', 'workspace_id', 'excluded').as('excluded_workspace_ids'),
      scope('agent_pool_projects', 'project_id').as('allowed_project_ids'),
    ])
}

function scope(table: string, column: string, rule?: string) {
  const matches = rule === undefined ? sql`` : sql` and s.rule = ${sql.lit(rule)}`
  return sql<string[]>`array(select s.${sql.ref(column)} from ${sql.table(table)} s
    where s.agent_pool_id = p.id${matches} order by s.${sql.ref(column)})`
}

export async function findAgentPool(db: Db, actor: Actor, { id, since }: { id: string; since: Date }) {
  return selectPools(db, since)
    .select(factsColumn(actor, { organizationId: sql`p.organization_id` }).as('facts'))
    .where('p.id', '=', id)
    .executeTakeFirst()
}

export type PoolFilter = {
  q: string | undefined
  allowedWorkspace: string | undefined
  allowedProject: string | undefined
  sort: { name: 'name' | 'created-at'; descending: boolean }
}

export async function listAgentPools(
  db: Db,
  organizationId: string,
  { page, since, filter }: { page: Page; since: Date; filter: PoolFilter },
) {
  const conditions = [sql<boolean>`p.organization_id = ${organizationId}`]
  if (filter.q !== undefined)
    conditions.push(sql`p.name ilike ${`%${filter.q.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`}`)
  if (filter.allowedWorkspace !== undefined) conditions.push(usableBy(organizationId, filter.allowedWorkspace))
  if (filter.allowedProject !== undefined) {
    conditions.push(sql`(p.organization_scoped or exists (
      select from agent_pool_projects s join projects j on j.id = s.project_id
       where s.agent_pool_id = p.id and lower(j.name) = ${filter.allowedProject.toLowerCase()}))`)
  }
  const where = sql<boolean>`${sql.join(conditions, sql` and `)}`
  const direction = filter.sort.descending ? 'desc' : 'asc'
  const rows = await selectPools(db, since)
    .where(where)
    .orderBy(filter.sort.name === 'name' ? 'p.name' : 'p.created_at', direction)
    .orderBy('p.id', direction)
    .limit(page.size)
    .offset(pageOffset(page))
    .execute()
  const count = await db
    .selectFrom('agent_pools as p')
    .where(where)
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()
  return { rows, total: count.total }
}

/** Pools that the workspace of that name may use. */
function usableBy(organizationId: string, workspaceName: string) {
  return sql<boolean>`exists (
    select from workspaces w
     where w.organization_id = ${organizationId} and lower(w.name) = ${workspaceName.toLowerCase()}
       and not exists (select from agent_pool_workspaces s
                        where s.agent_pool_id = p.id and s.workspace_id = w.id and s.rule = 'excluded')
       and (p.organization_scoped
         or exists (select from agent_pool_workspaces s
                     where s.agent_pool_id = p.id and s.workspace_id = w.id and s.rule = 'allowed')
         or exists (select from agent_pool_projects s where s.agent_pool_id = p.id and s.project_id = w.project_id)))`
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

type Rule = Selectable<Schema['agent_pool_workspaces']>['rule']

export async function replaceWorkspaces(db: Db, poolId: string, { rule, ids }: { rule: Rule; ids: readonly string[] }) {
  await db.deleteFrom('agent_pool_workspaces').where('agent_pool_id', '=', poolId).where('rule', '=', rule).execute()
  if (ids.length === 0) return
  await sql`insert into agent_pool_workspaces (agent_pool_id, workspace_id, rule)
            select ${poolId}, id, ${rule} from unnest(${ids}::text[]) id on conflict do nothing`.execute(db)
}

export async function replaceProjects(db: Db, poolId: string, ids: readonly string[]) {
  await db.deleteFrom('agent_pool_projects').where('agent_pool_id', '=', poolId).execute()
  if (ids.length === 0) return
  await sql`insert into agent_pool_projects (agent_pool_id, project_id)
            select ${poolId}, id from unnest(${ids}::text[]) id on conflict do nothing`.execute(db)
}

/** What would be left without agents if the pool went: workspaces, projects, the organization itself, and unfinished runs. */
export async function listUsers(db: Db, poolId: string) {
  const { rows } = await sql<{ name: string }>`
    select 'the workspace ' || name as name from workspaces where agent_pool_id = ${poolId}
    union all select 'the project ' || name from projects where default_agent_pool_id = ${poolId}
    union all select 'the organization ' || name from organizations where default_agent_pool_id = ${poolId}
    union all select 'the run ' || r.id from runs r
      where r.organization_id = (select organization_id from agent_pools where id = ${poolId})
        and r.agent_pool_id = ${poolId} and r.status not in ('planned_and_finished', 'planned_and_saved', 'applied', 'discarded',
          'canceled', 'force_canceled', 'errored')
    limit 5`.execute(db)
  return rows.map((row) => row.name)
}

export async function listTokens(db: Db, poolId: string, page: Page) {
  const query = db
    .selectFrom('tokens')
    .where('agent_pool_id', '=', poolId)
    .where('kind', '=', sql.lit('agent' as const))
  const rows = await query
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .limit(page.size)
    .offset(pageOffset(page))
    .execute()
  const count = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { rows, total: count.total }
}

/** The account as which the owners team's tokens act. */
export async function findOwnersAccount(db: Db, organizationId: string) {
  const row = await db
    .selectFrom('teams')
    .select('service_user_id')
    .where('organization_id', '=', organizationId)
    .where('is_owners', '=', sql.lit(true))
    .executeTakeFirst()
  return row?.service_user_id
}

/** Tokens of the server's own agents that no process uses any more. */
export async function deleteIdleBuiltInTokens(db: Db, { poolId, before }: { poolId: string; before: Date }) {
  await db
    .deleteFrom('tokens')
    .where('agent_pool_id', '=', poolId)
    .where((eb) => eb(eb.fn.coalesce('last_used_at', 'created_at'), '<', before))
    .execute()
}
