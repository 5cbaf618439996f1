import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleProject, visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing, insertRows } from '../../../db/sql.ts'
import { repositoryColumn } from '../../vcs/repositories/store.ts'

export type TagSelectorRow = Pick<Selectable<Schema['policy_set_tag_selectors']>, 'key' | 'value' | 'is_exclusion'>
export type PolicySetRow = Awaited<ReturnType<typeof findPolicySets>>[number]

/** Sets as `w`, which is the name that `repositoryColumn` expects. Workspaces and projects are those that the actor may see. */
function selectPolicySets(db: Db, actor: Actor) {
  return db
    .selectFrom('policy_sets as w')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .selectAll('w')
    .select([
      'o.name as organization_name',
      repositoryColumn.as('repository'),
      sql<string[]>`array(select x.policy_id from policy_set_policies x join policies p on p.id = x.policy_id
        where x.policy_set_id = w.id order by p.name)`.as('policy_ids'),
      sql<number>`(select count(*) from policy_set_version_policies x
        where x.policy_set_version_id = w.current_version_id)`.as('version_policy_count'),
      sql<string | null>`(select v.id from policy_set_versions v where v.policy_set_id = w.id
        order by v.seq desc limit 1)`.as('newest_version_id'),
      workspacesOf(actor, false).as('workspace_ids'),
      workspacesOf(actor, true).as('excluded_workspace_ids'),
      projectsOf(actor, false).as('project_ids'),
      projectsOf(actor, true).as('excluded_project_ids'),
      sql<TagSelectorRow[]>`coalesce((select jsonb_agg(jsonb_build_object('key', t.key, 'value', t.value,
        'is_exclusion', t.is_exclusion) order by t.is_exclusion, t.key, t.value)
        from policy_set_tag_selectors t where t.policy_set_id = w.id), '[]')`.as('tag_selectors'),
    ])
}

function workspacesOf(actor: Actor, isExclusion: boolean) {
  return sql<string[]>`array(select x.workspace_id from policy_set_workspaces x
    where x.policy_set_id = w.id and x.is_exclusion = ${sql.lit(isExclusion)}
      and exists (select from workspaces w where w.id = x.workspace_id and ${visibleWorkspace(actor)}) order by 1)`
}

function projectsOf(actor: Actor, isExclusion: boolean) {
  return sql<string[]>`array(select x.project_id from policy_set_projects x
    where x.policy_set_id = w.id and x.is_exclusion = ${sql.lit(isExclusion)}
      and exists (select from projects p where p.id = x.project_id and ${visibleProject(actor)}) order by 1)`
}

export async function findPolicySets(db: Db, actor: Actor, ids: readonly string[]) {
  return selectPolicySets(db, actor)
    .where(sql<boolean>`w.id = any(${ids})`)
    .orderBy('w.name')
    .execute()
}

type ListPolicySets = { page: Page; search: string | undefined; kind: string | undefined }

export async function listPolicySets(
  db: Db,
  actor: Actor,
  { organizationId, page, search, kind }: ListPolicySets & { organizationId: string },
) {
  const where = sql<boolean>`w.organization_id = ${organizationId}
    ${search === undefined ? sql`` : sql`and w.name ilike ${containing(search)}`}
    ${kind === undefined ? sql`` : sql`and w.kind = ${kind}`}`
  const list = selectPolicySets(db, actor).where(where).orderBy('w.name').orderBy('w.id')
  return readPaged(page, list, db.selectFrom('policy_sets as w').where(where))
}

/** Locks the set against concurrent changes; undefined if it is gone. */
export async function lockPolicySet(tx: Tx, id: string) {
  return tx.selectFrom('policy_sets').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

export async function insertPolicySet(db: Db, row: Insertable<Schema['policy_sets']>) {
  await db.insertInto('policy_sets').values(row).execute()
}

export async function updatePolicySet(db: Db, id: string, changes: Updateable<Schema['policy_sets']>) {
  await db.updateTable('policy_sets').set(changes).where('id', '=', id).execute()
}

export async function deletePolicySet(db: Db, id: string) {
  await db.deleteFrom('policy_sets').where('id', '=', id).execute()
}

/** The lists of a set, by the names of their relationships. */
const LISTS = {
  policies: { table: sql.table('policy_set_policies'), column: 'policy_id', exclusion: undefined },
  workspaces: { table: sql.table('policy_set_workspaces'), column: 'workspace_id', exclusion: false },
  'workspace-exclusions': {
    table: sql.table('policy_set_workspaces'),
    column: 'workspace_id',
    exclusion: true,
  },
  projects: { table: sql.table('policy_set_projects'), column: 'project_id', exclusion: false },
  'project-exclusions': { table: sql.table('policy_set_projects'), column: 'project_id', exclusion: true },
} as const
export type ListName = keyof typeof LISTS

export async function insertItems(db: Db, id: string, name: ListName, ids: readonly string[]) {
  const { table, column, exclusion } = LISTS[name]
  const flag = exclusion === undefined ? undefined : sql.lit(exclusion)
  await sql`insert into ${table} (policy_set_id, ${sql.ref(column)} ${flag ? sql`, is_exclusion` : sql``})
    select ${id}, x ${flag ? sql`, ${flag}` : sql``} from unnest(${ids}::text[]) as t(x) on conflict do nothing`.execute(
    db,
  )
}

export async function deleteItems(db: Db, id: string, name: ListName, ids: readonly string[]) {
  await sql`delete from ${LISTS[name].table} where ${inList(id, name)}
    and ${sql.ref(LISTS[name].column)} = any(${ids})`.execute(db)
}

/** Deletes the items of a list that the actor may see. */
export async function deleteVisibleItems(db: Db, id: string, { name, actor }: { name: ListName; actor: Actor }) {
  const { table, column } = LISTS[name]
  const visible = {
    policy_id: sql`true`,
    workspace_id: sql`exists (select from workspaces w where w.id = x.workspace_id and ${visibleWorkspace(actor)})`,
    project_id: sql`exists (select from projects p where p.id = x.project_id and ${visibleProject(actor)})`,
  }[column]
  await sql`delete from ${table} x where ${inList(id, name)} and ${visible}`.execute(db)
}

export async function deleteAllItems(db: Db, id: string, name: ListName) {
  await sql`delete from ${LISTS[name].table} where ${inList(id, name)}`.execute(db)
}

function inList(id: string, name: ListName) {
  const { exclusion } = LISTS[name]
  return exclusion === undefined
    ? sql`policy_set_id = ${id}`
    : sql`policy_set_id = ${id} and is_exclusion = ${sql.lit(exclusion)}`
}

export async function insertTagSelectors(tx: Tx, id: string, selectors: readonly TagSelectorRow[]) {
  if (selectors.length === 0) return
  const rows = selectors.map((selector) => ({ policy_set_id: id, ...selector }))
  await insertRows(tx, 'policy_set_tag_selectors', rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function deleteTagSelectors(tx: Tx, id: string, selectors: readonly TagSelectorRow[]) {
  for (const { key, value, is_exclusion: isExclusion } of selectors)
    await sql`delete from policy_set_tag_selectors where policy_set_id = ${id} and key = ${key}
      and value is not distinct from ${value} and is_exclusion = ${isExclusion}`.execute(tx)
}

export async function deleteAllTagSelectors(tx: Tx, id: string, { inclusions }: { inclusions: boolean }) {
  await sql`delete from policy_set_tag_selectors where policy_set_id = ${id}
    ${inclusions ? sql`and not is_exclusion` : sql``}`.execute(tx)
}

export async function countTagSelectors(db: Db, id: string) {
  const { rows } = await sql<{ count: number }>`
    select count(*) from policy_set_tag_selectors where policy_set_id = ${id}`.execute(db)
  return rows[0]?.count ?? 0
}
