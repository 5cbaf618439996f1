import { type Insertable, type RawBuilder, type Updateable, sql } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { visibleProject, visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'
import { type SqlText, isEffective } from '../workspaces/set-scope-store.ts'
import { countRows } from '../workspaces/store.ts'

/**
 * Sets with their variables, and the workspaces and projects where they apply that the actor sees. `is_inherited`: the actor sees a
 * workspace or project that has the set from the organization, or a workspace that has it from its project.
 */
function selectVariableSets(db: Db, actor: Actor) {
  return db
    .selectFrom('variable_sets as s')
    .innerJoin('organizations as o', 'o.id', 's.organization_id')
    .selectAll('s')
    .select('o.name as organization_name')
    .select([
      sql<string[]>`array(select v.id from variables v where v.variable_set_id = s.id order by v.key, v.category)`.as(
        'variable_ids',
      ),
      sql<string[]>`array(select w.id from variable_set_workspaces x join workspaces w on w.id = x.workspace_id
        where x.variable_set_id = s.id and ${visibleWorkspace(actor)} order by w.name, w.id)`.as('workspace_ids'),
      sql<string[]>`array(select p.id from variable_set_projects x join projects p on p.id = x.project_id
        where x.variable_set_id = s.id and ${visibleProject(actor)} order by p.name, p.id)`.as('project_ids'),
      isInherited(actor).as('is_inherited'),
    ])
}

/** PostgreSQL computes each array once, not for each set. The grants of a team are in its organization. */
function isInherited(actor: Actor) {
  if (actor.kind !== 'user') return sql<boolean>`false`
  return sql<boolean>`((s.is_global and s.organization_id = any(array(
      select my_team.organization_id from team_members mine join teams my_team on my_team.id = mine.team_id
       where mine.user_id = ${actor.userId} and (my_team.is_owners or my_team.manage_workspaces or my_team.read_workspaces
         or exists (select from team_projects my_grant where my_grant.team_id = my_team.id)
         or exists (select from team_workspaces my_grant where my_grant.team_id = my_team.id)))))
    or exists (select from variable_set_projects x where x.variable_set_id = s.id and x.project_id = any(array(
      select distinct w.project_id from team_members mine
        join team_workspaces my_grant on my_grant.team_id = mine.team_id join workspaces w on w.id = my_grant.workspace_id
       where mine.user_id = ${actor.userId}))))`
}

export type VariableSetRow = Awaited<ReturnType<typeof listVariableSets>>['rows'][number]

export async function findVariableSet(db: Db, actor: Actor, id: string) {
  return selectVariableSets(db, actor).where('s.id', '=', id).executeTakeFirst()
}

export type VariableSetScope =
  | { kind: 'organization' }
  /** Effective in the workspace. */
  | { kind: 'workspace'; workspaceId: string; projectId: string }
  /** Applicable to the workspace, but not effective there yet. */
  | { kind: 'applicable'; workspaceId: string; projectId: string }
  /** Effective in the project's workspaces. */
  | { kind: 'project'; projectId: string }
  | { kind: 'owned'; projectId: string }

export type VariableSetFilter = {
  q?: string | undefined
  global?: boolean | undefined
  /** Leaves out the sets that projects own. */
  ownedByOrganization?: boolean
}

type SetQuery = { organizationId: string; scope: VariableSetScope; filter: VariableSetFilter }

export async function listVariableSets(db: Db, actor: Actor, query: SetQuery, page: Page) {
  const { organizationId, scope, filter } = query
  const conditions = [
    sql`s.organization_id = ${organizationId}`,
    sql`(s.project_id is null or exists (select from projects p where p.id = s.project_id and ${visibleProject(actor)}))`,
    inScope(scope),
  ]
  if (filter.q !== undefined) conditions.push(sql`s.name ilike ${containing(filter.q)}`)
  if (filter.ownedByOrganization) conditions.push(sql`s.project_id is null`)
  if (filter.global !== undefined) conditions.push(sql`s.is_global = ${filter.global}`)
  const matches = sql<boolean>`(${sql.join(conditions, sql` and `)})`
  const sets = selectVariableSets(db, actor).where(matches).orderBy('s.name').orderBy('s.id')
  const [rows, total] = await Promise.all([
    sets.limit(page.size).offset(pageOffset(page)).execute(),
    countRows(db, sql`variable_sets s where ${matches}`),
  ])
  return { rows, total }
}

function inScope(scope: VariableSetScope): RawBuilder<unknown> {
  switch (scope.kind) {
    case 'organization':
      return sql`true`
    case 'workspace':
      return isEffective(scope.workspaceId, scope.projectId)
    case 'applicable':
      return sql`(s.project_id is null or s.project_id = ${scope.projectId})
        and not ${isEffective(scope.workspaceId, scope.projectId)}`
    case 'project':
      return sql`((s.is_global and (s.project_id is null or s.project_id = ${scope.projectId}))
        or exists (select from variable_set_projects x where x.variable_set_id = s.id and x.project_id = ${scope.projectId}))`
    case 'owned':
      return sql`s.project_id = ${scope.projectId}`
  }
}

export type EffectiveSet = { id: string; name: string; priority: boolean; scope: 'workspace' | 'project' | 'global' }

/** A workspace and its location; `projectOf` is the project where only the workspace is known. */
export type WorkspaceScope<Text = string> = { workspaceId: Text; projectId: SqlText; organizationId: Text }

export function projectOf(workspaceId: string) {
  return sql<string>`(select project_id from workspaces where id = ${workspaceId})`
}

/** A query of the sets that are effective in a workspace, each with the narrowest scope that makes it so. */
export function selectEffectiveSets({ workspaceId, projectId, organizationId }: WorkspaceScope<SqlText>) {
  return sql<EffectiveSet>`
    select s.id, s.name, s.priority,
           case when exists (select from variable_set_workspaces x
                              where x.variable_set_id = s.id and x.workspace_id = ${workspaceId}) then 'workspace'
                when s.project_id is not null or exists (select from variable_set_projects x
                              where x.variable_set_id = s.id and x.project_id = ${projectId}) then 'project'
                else 'global' end as scope
      from variable_sets s
     where s.organization_id = ${organizationId} and ${isEffective(workspaceId, projectId)}`
}

type SetKey = Pick<VariableSetRow, 'id' | 'organization_id' | 'project_id' | 'is_global'>
type SetWorkspaceFilter = { q: string | undefined; scope: EffectiveSet['scope'] | undefined }

/** A workspace to which a set applies, with the narrowest scope that makes it so. */
export type SetWorkspaceRow = { id: string; name: string; project_id: string; scope: EffectiveSet['scope'] }

/** The workspaces to which the set applies that the actor sees. */
export async function listSetWorkspaces(
  db: Db,
  actor: Actor,
  set: SetKey,
  { page, q, scope }: SetWorkspaceFilter & { page: Page },
) {
  // The lists of the set decide which workspaces are read, unless it is global.
  const workspaces = sql`select workspace_id from variable_set_workspaces where variable_set_id = ${set.id}`
  const projects = sql`select project_id from variable_set_projects where variable_set_id = ${set.id}`
  const scopeOf = sql<EffectiveSet['scope']>`case when w.id in (${workspaces}) then 'workspace'
    when ${set.project_id !== null} or w.project_id in (${projects}) then 'project' else 'global' end`
  const conditions = [sql`w.organization_id = ${set.organization_id}`, visibleWorkspace(actor)]
  if (set.project_id !== null) conditions.push(sql`w.project_id = ${set.project_id}`)
  if (!set.is_global)
    conditions.push(sql`w.id = any(array(${workspaces} union
      select x.id from variable_set_projects p join workspaces x on x.project_id = p.project_id where p.variable_set_id = ${set.id}))`)
  if (q !== undefined) conditions.push(sql`lower(w.name) like lower(${containing(q)})`)
  if (scope !== undefined) conditions.push(sql`${scopeOf} = ${scope}`)
  const where = sql<boolean>`(${sql.join(conditions, sql` and `)})`
  const list = db
    .selectFrom('workspaces as w')
    .select(['w.id', 'w.name', 'w.project_id', scopeOf.as('scope')])
    .where(where)
    .orderBy('w.name')
    .orderBy('w.id')
  return readPaged(page, list, db.selectFrom('workspaces as w').where(where))
}

/** The sets that are effective in the workspaces, by workspace. */
export async function listEffectiveSets(db: Db, workspaceIds: readonly string[]) {
  const { rows } = await sql<EffectiveSet & { workspace_id: string }>`
    select w.id as workspace_id, s.* from workspaces w cross join lateral (${selectEffectiveSets({
      workspaceId: sql`w.id`,
      projectId: sql`w.project_id`,
      organizationId: sql`w.organization_id`,
    })}) s where w.id = any(${workspaceIds})`.execute(db)
  return rows
}

/** A sensitive variable, or the digest of a former value. */
export type SensitiveRow = { workspace_id: string; organization_id: string } & (
  | { id: string; hcl: boolean; sealed_value: Buffer }
  | { id: null; length: number; digest: string }
)

/** Sensitive variables and former values of workspaces and of the sets that apply or have applied to them, including overridden ones. */
export async function listSensitiveValues(db: Db, workspaceIds: readonly string[]) {
  const { rows } = await sql<SensitiveRow>`
    with w as (select id, organization_id, project_id from workspaces where id = any(${workspaceIds})),
    applied as (
      select w.id as workspace_id, w.organization_id, s.id as variable_set_id
        from w join variable_sets s on s.organization_id = w.organization_id
         and ${isEffective(sql.ref('w.id'), sql.ref('w.project_id'))}
      union
      select w.id, w.organization_id, f.variable_set_id from w join former_variable_sets f on f.workspace_id = w.id)
    select w.id as workspace_id, w.organization_id, v.id, v.hcl, v.sealed_value, null::integer as length, null::text as digest
      from w join variables v on v.workspace_id = w.id and v.sensitive
    union all
    select a.workspace_id, a.organization_id, v.id, v.hcl, v.sealed_value, null, null
      from applied a join variables v on v.variable_set_id = a.variable_set_id and v.sensitive
    union all
    select w.id, w.organization_id, null, null, null, f.length, f.digest
      from w join former_sensitive_values f on f.workspace_id = w.id
    union all
    select a.workspace_id, a.organization_id, null, null, null, f.length, f.digest
      from applied a join former_sensitive_values f on f.variable_set_id = a.variable_set_id`.execute(db)
  return rows
}

export async function insertVariableSet(db: Db, row: Insertable<Schema['variable_sets']>) {
  await db.insertInto('variable_sets').values(row).execute()
}

export async function updateVariableSet(db: Db, id: string, changes: Updateable<Schema['variable_sets']>) {
  await db.updateTable('variable_sets').set(changes).where('id', '=', id).execute()
}

/** Deletes the set, and the digests of its values if it has applied to no workspace. */
export async function deleteVariableSet(db: Db, id: string) {
  await sql`with unused as (
      delete from former_sensitive_values where variable_set_id = ${id}
         and not exists (select from former_variable_sets f where f.variable_set_id = ${id}))
    delete from variable_sets where id = ${id}`.execute(db)
}

const SCOPES = {
  workspaces: {
    table: sql.table('variable_set_workspaces'),
    column: sql.ref('workspace_id'),
    isVisible: (actor: Actor) =>
      sql`exists (select from workspaces w where w.id = x.workspace_id and ${visibleWorkspace(actor)})`,
  },
  projects: {
    table: sql.table('variable_set_projects'),
    column: sql.ref('project_id'),
    isVisible: (actor: Actor) =>
      sql`exists (select from projects p where p.id = x.project_id and ${visibleProject(actor)})`,
  },
}
export type ScopeKind = keyof typeof SCOPES

export async function insertScope(db: Db, id: string, kind: ScopeKind, ids: readonly string[]) {
  const { table, column } = SCOPES[kind]
  await sql`insert into ${table} (variable_set_id, ${column})
    select ${id}, x from unnest(${ids}::text[]) as t(x) on conflict do nothing`.execute(db)
}

export async function deleteScope(db: Db, id: string, kind: ScopeKind, ids: readonly string[]) {
  const { table, column } = SCOPES[kind]
  await sql`delete from ${table} where variable_set_id = ${id} and ${column} = any(${ids})`.execute(db)
}

/** Removes the set from the workspaces or projects that the actor sees; it may not remove it from the others. */
export async function deleteVisibleScope(tx: Tx, actor: Actor, id: string, kind: ScopeKind) {
  const { table, isVisible } = SCOPES[kind]
  await sql`delete from ${table} x where x.variable_set_id = ${id} and ${isVisible(actor)}`.execute(tx)
}

/** The teams that see the sets of a project. */
export async function listTeamIds(db: Db, projectId: string) {
  const { rows } = await sql<{ team_id: string }>`select team_id from team_projects
    where project_id = ${projectId} and (access <> 'custom' or project_variable_sets <> 'none')`.execute(db)
  return rows.map(({ team_id: id }) => id)
}

export type VariableSet = VariableSetRow & { canManage: boolean }
