import { type Insertable, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import { changeWithEvent } from '../../../audit/store.ts'
import { type ActorInSql, runInSql, userInSql, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import { type Actor, isOwnOrganizationName, type RunActor } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { policyColumn, raiseAccessRevision } from '../../organizations/organizations/store.ts'
import { repositoryColumn } from '../../vcs/repositories/store.ts'
import { insertFormerScope } from './set-scope-store.ts'

export type WorkspaceRow = Selectable<Schema['workspaces']>

export type WorkspaceKey = { id: string } | { organization: string; name: string }
type InSql = string | RawBuilder<string>
type KeyInSql = { id: InSql } | { organization: InSql; name: InSql } | { organizationId: InSql; name: InSql }

export const currentRunStatus = sql<Selectable<Schema['runs']>['status'] | null>`case
  when w.current_run_final_status is not null or w.current_run_id is null then w.current_run_final_status
  else (select r.status from runs r where r.id = w.current_run_id) end`

/** The keys of the tags without a value of the workspace `w`: `tag-names` lists flat tags only. */
export const tagNames = sql<string[]>`array(
  select b.key from tag_bindings b where b.workspace_id = w.id and b.value = '' order by b.key)`

/** Workspaces with the defaults of their project and organization, and their tag names. */
export function selectWorkspaces(db: Db) {
  return db
    .selectFrom('workspaces as w')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .innerJoin('projects as p', 'p.id', 'w.project_id')
    .selectAll('w')
    .select([
      'o.name as organization_name',
      'o.plan as organization_plan',
      'o.allow_force_delete_workspaces',
      'o.default_execution_mode as organization_execution_mode',
      'o.default_agent_pool_id as organization_agent_pool_id',
      'p.name as project_name',
      'p.default_execution_mode as project_execution_mode',
      'p.default_agent_pool_id as project_agent_pool_id',
      'p.auto_destroy_activity_duration as project_auto_destroy_activity_duration',
    ])
    .select([
      currentRunStatus.as('current_run_status'),
      tagNames.as('tag_names'),
      policyColumn('workspace_id', sql`w.id`).as('retention_policy'),
      repositoryColumn.as('repository'),
    ])
}

/** As `selectWorkspaces`, with the access context of each for `actor`. */
function selectWorkspacesFor(db: Db, actor: ActorInSql) {
  return selectWorkspaces(db).select(workspaceAccessColumn(actor).as('access'))
}

/** For an engine, the name that its workspace had when the plan began means that workspace, even if another has taken it; also for remote state. */
export async function findWorkspace(db: Db, actor: Actor, key: WorkspaceKey) {
  const lower = 'id' in key ? key : { organization: key.organization.toLowerCase(), name: key.name.toLowerCase() }
  if ('name' in lower && isOwnOrganizationName(actor, lower.organization)) {
    const { workspaceId, organizationId, names } = actor
    if (lower.name === names?.workspace.toLowerCase()) return findForRunById(db, { workspaceId, id: workspaceId })
    return findForRunByName(db, { workspaceId, organizationId, name: lower.name })
  }
  if (actor.kind === 'run' && 'id' in lower) return findForRunById(db, { workspaceId: actor.workspaceId, ...lower })
  if (actor.kind !== 'user') return selectWorkspace(db, actor, lower).executeTakeFirst()
  const { userId } = actor
  return 'id' in lower ? findForUserById(db, { userId, ...lower }) : findForUserByName(db, { userId, ...lower })
}

function selectWorkspace(db: Db, actor: ActorInSql, lower: KeyInSql) {
  return selectWorkspacesFor(db, actor).where((eb) => {
    if ('id' in lower) return eb('w.id', '=', lower.id)
    const inOrganization =
      'organizationId' in lower
        ? eb('o.id', '=', lower.organizationId)
        : eb(sql`lower(o.name)`, '=', lower.organization)
    return eb.and([inOrganization, eb(sql`lower(w.name)`, '=', lower.name)])
  })
}

// Nearly every request of a user or an engine begins with one of these.
const findForUserById = lookup(['userId', 'id'], (db, { userId, id }) => selectWorkspace(db, userInSql(userId), { id }))
const findForUserByName = lookup(['userId', 'organization', 'name'], (db, { userId, organization, name }) =>
  selectWorkspace(db, userInSql(userId), { organization, name }),
)
const findForRunById = lookup(['workspaceId', 'id'], (db, { workspaceId, id }) =>
  selectWorkspace(db, runInSql(workspaceId), { id }),
)
const findForRunByName = lookup(
  ['workspaceId', 'organizationId', 'name'],
  (db, { workspaceId, organizationId, name }) => selectWorkspace(db, runInSql(workspaceId), { organizationId, name }),
)

/**
 * Columns that only a read of a single workspace has: its variables, and, while it has no current configuration, the newest one that is
 * awaited.
 */
const DETAILS = [
  sql<string[]>`array(select v.id from variables v where v.workspace_id = w.id order by v.key, v.category)`.as(
    'variable_ids',
  ),
  sql<string | null>`case when w.current_configuration_version_id is null then (
      select cv.id from configuration_versions cv where cv.workspace_id = w.id and cv.status = 'pending'
         and not cv.speculative and not cv.provisional order by cv.seq desc limit 1) end`.as(
    'awaited_configuration_version_id',
  ),
] as const

export type Details = { variable_ids: string[]; awaited_configuration_version_id: string | null }

/** As `findWorkspace`, with the details; not for engines, which do not read them. */
export async function findDetailed(db: Db, actor: Exclude<Actor, RunActor>, key: WorkspaceKey) {
  const lower = 'id' in key ? key : { organization: key.organization.toLowerCase(), name: key.name.toLowerCase() }
  if (actor.kind !== 'user') return selectWorkspace(db, actor, lower).select(DETAILS).executeTakeFirst()
  const { userId } = actor
  return 'id' in lower ? findDetailedById(db, { userId, ...lower }) : findDetailedByName(db, { userId, ...lower })
}

const findDetailedById = lookup(['userId', 'id'], (db, { userId, id }) =>
  selectWorkspace(db, userInSql(userId), { id }).select(DETAILS),
)
const findDetailedByName = lookup(['userId', 'organization', 'name'], (db, { userId, organization, name }) =>
  selectWorkspace(db, userInSql(userId), { organization, name }).select(DETAILS),
)

/** The existing workspaces with the actor's access contexts; the caller filters out those that the actor may not see. */
export async function findWorkspaces(db: Db, actor: Actor, ids: readonly string[]) {
  return selectWorkspacesFor(db, actor)
    .where(sql<boolean>`w.id = any(${ids})`)
    .orderBy('w.name')
    .orderBy('w.id')
    .execute()
}

/** Locks the workspaces in the order of their ids, so that concurrent moves cannot deadlock. */
export async function moveWorkspaces(
  tx: Tx,
  ids: readonly string[],
  { organizationId, projectId, now }: { organizationId: string; projectId: string; now: Date },
) {
  await sql`select from workspaces where id = any(${ids}) order by id for update`.execute(tx)
  await insertFormerScope(tx, { workspaceIds: ids })
  await tx
    .updateTable('workspaces')
    .set({ project_id: projectId, updated_at: now })
    .where(sql<boolean>`id = any(${ids})`)
    .where('project_id', '<>', projectId)
    .execute()
  await raiseAccessRevision(tx, { organizationId })
}

/** Takes the row lock that guards a workspace's lock, queue and state. */
export async function lockWorkspaceRow(tx: Tx, id: string) {
  return tx.selectFrom('workspaces').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

export async function insertWorkspace(db: Db, row: Insertable<Schema['workspaces']>) {
  return db.insertInto('workspaces').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateWorkspace(
  tx: Tx,
  { id, organization_id: organizationId }: Pick<WorkspaceRow, 'id' | 'organization_id'>,
  changes: Updateable<Schema['workspaces']>,
) {
  if (changes.project_id !== undefined) await insertFormerScope(tx, { workspaceIds: [id] })
  await tx.updateTable('workspaces').set(changes).where('id', '=', id).execute()
  if (changes.project_id !== undefined) await raiseAccessRevision(tx, { organizationId })
}

export async function deleteWorkspace(tx: Tx, id: string) {
  await raiseAccessRevision(tx, { grantedWorkspaceId: id })
  await tx.deleteFrom('workspaces').where('id', '=', id).execute()
}

export type LockHolder = { type: NonNullable<WorkspaceRow['locked_by_type']>; id: string }

/** The columns of a workspace's lock. The holder is null when the workspace is not locked. */
export type Lock = Pick<WorkspaceRow, 'locked_by_type' | 'locked_by_id' | 'locked_reason' | 'locked_at'>

export const UNLOCKED = {
  locked_by_type: null,
  locked_by_id: null,
  locked_reason: null,
  locked_at: null,
} as const satisfies Lock

/** Locks an unlocked workspace without a pending state version; otherwise returns no row. */
export const insertIdleLock = changeWithEvent<{ id: string } & Lock, { id: string }>(
  (_, slot) => sql<{ id: string }>`
    update workspaces
       set locked_by_type = ${slot((lock) => lock.locked_by_type)}, locked_by_id = ${slot((lock) => lock.locked_by_id)},
           locked_reason = ${slot((lock) => lock.locked_reason)}, locked_at = ${slot((lock) => lock.locked_at)}
     where id = ${slot(({ id }) => id)} and locked_by_type is null and pending_state_version_id is null
    returning id`,
)

/** Releases the holder's lock if no upload, snapshot or run waits for that; otherwise returns no row. */
export const deleteIdleLock = changeWithEvent<{ id: string; holder: LockHolder }, { id: string }>(
  (_, slot) => sql<{ id: string }>`
    update workspaces
       set locked_by_type = null, locked_by_id = null, locked_reason = null, locked_at = null
     where id = ${slot(({ id }) => id)} and locked_by_type = ${slot(({ holder }) => holder.type)}
       and locked_by_id = ${slot(({ holder }) => holder.id)} and pending_state_version_id is null
       and latest_state_version_id is not distinct from current_state_version_id and waiting_runs = 0
    returning id`,
)

export async function deleteLock(tx: Tx, id: string) {
  await tx.updateTable('workspaces').set(UNLOCKED).where('id', '=', id).execute()
}

export async function findLockHolderName(db: Db, { type, id }: LockHolder) {
  if (type === 'run') return id
  const row =
    type === 'user'
      ? await db.selectFrom('users').select('username as name').where('id', '=', id).executeTakeFirst()
      : await db.selectFrom('teams').select('name').where('id', '=', id).executeTakeFirst()
  return row?.name
}

export async function findVisibleWorkspaceIds(db: Db, actor: Actor, organizationId: string, ids: readonly string[]) {
  const rows = await db
    .selectFrom('workspaces as w')
    .select('w.id')
    .where('w.organization_id', '=', organizationId)
    .where(sql<boolean>`w.id = any(${ids})`)
    .where(visibleWorkspace(actor))
    .execute()
  return new Set(rows.map((row) => row.id))
}

/** The number of rows of `from`: the text of a query from its first table on. */
export async function countRows(db: Db, from: RawBuilder<unknown>) {
  const { rows } = await sql<{ total: number }>`select count(*) as total from ${from}`.execute(db)
  return rows[0]?.total ?? 0
}

/** One page of the visible workspaces that may read the state of the workspace `id`. */
export async function listConsumers(db: Db, actor: Actor, id: string, page: Page) {
  const consumers = sql<boolean>`w.id in (select c.consumer_id from remote_state_consumers c where c.workspace_id = ${id})
    and ${visibleWorkspace(actor)}`
  const query = selectWorkspacesFor(db, actor).where(consumers).orderBy('w.name').orderBy('w.id')
  const [rows, total] = await Promise.all([
    query.limit(page.size).offset(pageOffset(page)).execute(),
    countRows(db, sql`workspaces w where ${consumers}`),
  ])
  return { rows, total }
}

export async function insertConsumers(db: Db, id: string, consumerIds: readonly string[]) {
  await sql`insert into remote_state_consumers (workspace_id, consumer_id)
    select ${id}, consumer from unnest(${consumerIds}::text[]) as t(consumer) on conflict do nothing`.execute(db)
}

export async function deleteConsumers(db: Db, id: string, consumerIds: readonly string[]) {
  await sql`delete from remote_state_consumers
    where workspace_id = ${id} and consumer_id = any(${consumerIds})`.execute(db)
}

/** Deletes the consumers that the actor sees; it may not remove the others. */
export async function deleteVisibleConsumers(tx: Tx, actor: Actor, id: string) {
  await sql`delete from remote_state_consumers c using workspaces w
    where c.workspace_id = ${id} and w.id = c.consumer_id and ${visibleWorkspace(actor)}`.execute(tx)
}
