import { type Insertable, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import { type ActorInSql, accessColumn, userInSql } from '../../../auth/access-sql.ts'
import { type Actor, isOwnOrganizationName } from '../../../auth/actor.ts'
import { acceptsCredentials } from '../../../auth/visibility.ts'
import type { Db, Page, Tx } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import { readPaged } from '../../../db/paged.ts'
import { deferWrite } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'

export type OrganizationRow = Selectable<Schema['organizations']>

type OrganizationKey = { id: string } | { name: string }

export async function findOrganization(db: Db, actor: Actor, key: OrganizationKey) {
  if ('name' in key && isOwnOrganizationName(actor, key.name))
    return findOrganization(db, actor, { id: actor.organizationId })
  const lower = 'id' in key ? key : { name: key.name.toLowerCase() }
  if (actor.kind === 'user' && 'name' in lower) return findForUserByName(db, { userId: actor.userId, ...lower })
  return selectOrganization(db, actor, lower).executeTakeFirst()
}

function selectOrganization(db: Db, actor: ActorInSql, lower: { id: string } | { name: string | RawBuilder<string> }) {
  return selectOrganizations(db, actor).where((eb) =>
    'id' in lower ? eb('o.id', '=', lower.id) : eb(sql`lower(o.name)`, '=', lower.name),
  )
}

// Batched, since every list within an organization begins with it.
const findForUserByName = lookup(['userId', 'name'], (db, { userId, name }) =>
  selectOrganization(db, userInSql(userId), { name }),
)

/** SQL condition: the actor may see the organization `o`. */
function visible(actor: Actor) {
  if (actor.kind === 'system') return sql<boolean>`true`
  if (actor.kind === 'organization' || actor.kind === 'run') return sql<boolean>`o.id = ${actor.organizationId}`
  if (actor.kind !== 'user') return sql<boolean>`false`
  return sql<boolean>`${acceptsCredentials(actor)} and o.id in (
    select m.organization_id from organization_memberships m where m.user_id = ${actor.userId} and m.status = 'active'
    union
    select t.organization_id from team_members tm join teams t on t.id = tm.team_id where tm.user_id = ${actor.userId})`
}

function selectOrganizations(db: Db, actor: ActorInSql) {
  return db
    .selectFrom('organizations as o')
    .selectAll('o')
    .select(accessColumn(actor, { organizationId: sql`o.id` }).as('access'))
    .select(policyColumn('organization_id', sql`o.id`).as('retention_policy'))
}

type OrganizationKeys = { keys: readonly string[]; column: 'id' | 'name' }

export async function findOrganizations(db: Db, actor: Actor, { keys, column }: OrganizationKeys) {
  return selectOrganizations(db, actor)
    .where(sql<boolean>`${sql.ref(`o.${column}`)} = any(${keys})`)
    .where(visible(actor))
    .execute()
}

/** SQL condition: the actor has `members:read` in the visible organization `o`, and so may see its address. */
function showsEmail(actor: Actor) {
  if (actor.kind !== 'user') return sql<boolean>`${actor.kind === 'system' || actor.kind === 'organization'}`
  return sql<boolean>`exists (
    select from team_members mine join teams my_team on my_team.id = mine.team_id
     where mine.user_id = ${actor.userId} and my_team.organization_id = o.id
       and (my_team.is_owners or my_team.manage_membership or my_team.manage_teams or my_team.manage_organization_access))`
}

export type ListOrganizations = Partial<Record<'q' | 'name' | 'email', string | undefined>> & { page: Page }

export async function listOrganizations(db: Db, actor: Actor, { page, q, name, email }: ListOrganizations) {
  const hasEmail = (text: string) => sql`(o.email ilike ${containing(text)} and ${showsEmail(actor)})`
  const matches = sql<boolean>`${visible(actor)}
    ${q === undefined ? sql`` : sql`and (o.name ilike ${containing(q)} or ${hasEmail(q)})`}
    ${name === undefined ? sql`` : sql`and o.name ilike ${containing(name)}`}
    ${email === undefined ? sql`` : sql`and ${hasEmail(email)}`}`
  const list = selectOrganizations(db, actor).where(matches).orderBy('o.name')
  return readPaged(page, list, db.selectFrom('organizations as o').where(matches))
}

/** Deletes the organization, everything in it, and the service accounts of its teams. */
export async function deleteOrganization(tx: Tx, id: string) {
  const accounts = await tx.selectFrom('teams').select('service_user_id').where('organization_id', '=', id).execute()
  await tx.deleteFrom('organizations').where('id', '=', id).execute()
  await tx
    .deleteFrom('users')
    .where(sql<boolean>`id = any(${accounts.map((account) => account.service_user_id)})`)
    .where('is_service_account', '=', true)
    .execute()
}

export async function insertOrganization(db: Db, row: Insertable<Schema['organizations']>) {
  return db.insertInto('organizations').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateOrganization(db: Db, id: string, changes: Updateable<Schema['organizations']>) {
  return db.updateTable('organizations').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
}

type WorkspaceInSql = { workspaceId: RawBuilder<unknown>; projectId: RawBuilder<unknown> }

/** SQL condition: the scope of the pool includes the workspace. */
export function isPoolOpenTo(pool: string, { workspaceId, projectId }: WorkspaceInSql) {
  const id = sql.ref(`${pool}.id`)
  const listed = (rule: string) =>
    sql`exists (select from agent_pool_workspaces s
      where s.agent_pool_id = ${id} and s.workspace_id = ${workspaceId} and s.rule = ${sql.lit(rule)})`
  return sql<boolean>`(not ${listed('excluded')} and (${sql.ref(`${pool}.organization_scoped`)} or ${listed('allowed')}
    or exists (select from agent_pool_projects s where s.agent_pool_id = ${id} and s.project_id = ${projectId})))`
}

export type PoolUser = { organizationId: string; workspaceId?: string; projectId: string }

/** A pool of the organization, and whether its scope includes a workspace: one that does not exist yet by its project. */
export async function findPoolFor(db: Db, workspace: PoolUser, poolId: string) {
  const { organizationId, workspaceId, projectId } = workspace
  return db
    .selectFrom('agent_pools as p')
    .select('p.name')
    .select(isPoolOpenTo('p', { workspaceId: sql`${workspaceId ?? null}`, projectId: sql`${projectId}` }).as('is_open'))
    .where('p.id', '=', poolId)
    .where('p.organization_id', '=', organizationId)
    .executeTakeFirst()
}

export async function findOrganizationPool(db: Db, organizationId: string, id: string) {
  return db
    .selectFrom('agent_pools')
    .select(['id', 'name'])
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst()
}

/** Invalidates the counts of `readGrants`, in the transaction of each change of team members, grants or a workspace's project. */
export async function raiseAccessRevision(tx: Tx, of: Raised) {
  const id = organizationOf(of)
  await deferWrite(tx, sql`update organizations set access_revision = access_revision + 1 where id = ${id}`)
}

/** Teams are of one organization. */
type Raised = { organizationId: string } | { teamIds: readonly string[] } | { grantedWorkspaceId: string }

function organizationOf(of: Raised): RawBuilder<unknown> {
  if ('organizationId' in of) return sql`${of.organizationId}`
  if ('teamIds' in of) return sql`(select organization_id from teams where id = any(${of.teamIds}) limit 1)`
  return sql`(select t.organization_id from team_workspaces g join teams t on t.id = g.team_id
    where g.workspace_id = ${of.grantedWorkspaceId} limit 1)`
}

export type PolicyColumn = { id: string; days: number | null } | null

/** SQL of the policy set directly on an organization or workspace with the id `id`. */
export function policyColumn(owner: 'organization_id' | 'workspace_id', id: RawBuilder<unknown>) {
  return sql<PolicyColumn>`(select jsonb_build_object('id', drp.id, 'days', drp.delete_older_than_days)
    from data_retention_policies drp where drp.${sql.ref(owner)} = ${id})`
}

export async function listTeamsOfProject(db: Db, projectId: string) {
  return (await listTeamsOfProjects(db, [projectId])).map(({ team_id: id }) => id)
}

export async function listTeamsOfProjects(db: Db, ids: readonly string[]) {
  const teams = db.selectFrom('team_projects').select(['project_id', 'team_id'])
  return teams.where(sql<boolean>`project_id = any(${ids})`).execute()
}
