import { type Insertable, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import { changeWithEvent } from '../../../audit/store.ts'
import { type ActorInSql, runInSql, userInSql, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import { type Actor, isOwnOrganizationName } from '../../../auth/actor.ts'
import { visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { policyColumn, raiseAccessRevision } from '../../organizations/organizations/store.ts'

export type WorkspaceRow = Selectable<Schema['workspaces']>

export type WorkspaceKey = { id: string } | { organization: string; name: string }
type InSql = string | RawBuilder<string>
type KeyInSql = { id: InSql } | { organization: InSql; name: InSql } | { organizationId: InSql; name: InSql }

/** The status of the current run of a workspace `w`. */
export const currentRunStatus = sql<Selectable<Schema['runs']>['status'] | null>`case
  when w.current_run_final_status is not null or w.current_run_id is null then w.current_run_final_status
  else (select r.status from runs r where r.id = w.current_run_id) end`

/** Workspaces with what their defaults come from, and the names of their tags. */
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
      'p.default_execution_mode as project_execution_mode',
      'p.default_agent_pool_id as project_agent_pool_id',
      'p.auto_destroy_activity_duration as project_auto_destroy_activity_duration',
    ])
    .select([
      currentRunStatus.as('current_run_status'),
      // A tag with a value has no place in a list of names.
      sql<
        string[]
      >`array(select b.key from tag_bindings b where b.workspace_id = w.id and b.value = '' order by b.key)`.as(
        'tag_names',
      ),
      policyColumn('workspace_id', sql`w.id`).as('retention_policy'),
    ])
}

/** As `selectWorkspaces`, with the facts about each for `actor`. */
export function selectWorkspacesFor(db: Db, actor: ActorInSql) {
  const access = workspaceAccessColumn(actor)
  return selectWorkspaces(db).select(access.as('access'))
}

/**
 * A workspace and the facts about it for `actor`. An engine gets its own workspace by the name that it had when the plan began, and
 * no other that has got this name meanwhile, not even for remote state.
 */
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

// Nearly every request begins with one of these: those of people, and those of engines.
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

/** The workspaces that exist, each with the facts for the actor: the caller leaves out those that it may not see. */
export async function findWorkspaces(db: Db, actor: Actor, ids: readonly string[]) {
  return selectWorkspacesFor(db, actor)
    .where(sql<boolean>`w.id = any(${ids})`)
    .orderBy('w.name')
    .orderBy('w.id')
    .execute()
}

/** Locks the workspaces in the order of their ids, so that two moves never wait for each other. */
export async function moveWorkspaces(
  tx: Tx,
  ids: readonly string[],
  { organizationId, projectId, now }: { organizationId: string; projectId: string; now: Date },
) {
  await sql`select from workspaces where id = any(${ids}) order by id for update`.execute(tx)
  await tx
    .updateTable('workspaces')
    .set({ project_id: projectId, updated_at: now })
    .where(sql<boolean>`id = any(${ids})`)
    .where('project_id', '<>', projectId)
    .execute()
  await raiseAccessRevision(tx, { organizationId })
}

/** Takes the row lock under which a workspace's lock, queue and state change. */
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
  await tx.updateTable('workspaces').set(changes).where('id', '=', id).execute()
  if (changes.project_id !== undefined) await raiseAccessRevision(tx, { organizationId })
}

export async function deleteWorkspace(tx: Tx, id: string) {
  // The grants on it go with it.
  await raiseAccessRevision(tx, { grantedWorkspaceId: id })
  await tx.deleteFrom('workspaces').where('id', '=', id).execute()
}

type Holder = { type: 'user' | 'team' | 'run'; id: string }

/** The columns that describe the lock of a workspace. The holder is null while no one locks it. */
export type Lock = Pick<WorkspaceRow, 'locked_by_type' | 'locked_by_id' | 'locked_reason' | 'locked_at'>

/**
 * The statement that locks an unlocked workspace when nothing else has to be done: an earlier holder has left no state version
 * that awaits its upload. It returns no row otherwise, nor when someone holds the lock.
 */
export const insertIdleLock = changeWithEvent<{ id: string } & Lock, { id: string }>((db, slot) =>
  db
    .updateTable('workspaces')
    .set({
      locked_by_type: slot((lock) => lock.locked_by_type),
      locked_by_id: slot((lock) => lock.locked_by_id),
      locked_reason: slot((lock) => lock.locked_reason),
      locked_at: slot((lock) => lock.locked_at),
    })
    .where(
      'id',
      '=',
      slot(({ id }) => id),
    )
    .where('locked_by_type', 'is', null)
    .where('pending_state_version_id', 'is', null)
    .returning('id'),
)

/**
 * The statement that releases the holder's lock when nothing else has to be done: no upload is awaited, no snapshot
 * becomes current, and no run waits. It returns no row otherwise.
 */
export const deleteIdleLock = changeWithEvent<{ id: string; holder: Holder }, { id: string }>((db, slot) =>
  db
    .updateTable('workspaces')
    .set({ locked_by_type: null, locked_by_id: null, locked_reason: null, locked_at: null })
    .where(
      'id',
      '=',
      slot(({ id }) => id),
    )
    .where(
      'locked_by_type',
      '=',
      slot(({ holder }) => holder.type),
    )
    .where(
      'locked_by_id',
      '=',
      slot(({ holder }) => holder.id),
    )
    .where('pending_state_version_id', 'is', null)
    .where('latest_state_version_id', 'is not distinct from', (eb) => eb.ref('current_state_version_id'))
    .where('waiting_runs', '=', 0)
    .returning('id'),
)

export async function deleteLock(tx: Tx, id: string) {
  await tx
    .updateTable('workspaces')
    .set({ locked_by_type: null, locked_by_id: null, locked_reason: null, locked_at: null })
    .where('id', '=', id)
    .execute()
}

/** The name to show for the holder of a lock; undefined when it no longer exists. */
export async function findLockHolderName(db: Db, type: 'user' | 'team' | 'run', id: string) {
  if (type === 'run') return id
  const row =
    type === 'user'
      ? await db.selectFrom('users').select('username as name').where('id', '=', id).executeTakeFirst()
      : await db.selectFrom('teams').select('name').where('id', '=', id).executeTakeFirst()
  return row?.name
}

/** Those of the ids that are workspaces of the organization and visible to the actor. */
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
