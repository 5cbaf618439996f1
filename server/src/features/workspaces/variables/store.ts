import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type VariableRow = Selectable<Schema['variables']>
/** The owner of a variable: a workspace or a variable set. */
export type VariableOwner = { workspaceId: string } | { variableSetId: string }

function of(owner: VariableOwner) {
  return 'workspaceId' in owner
    ? sql<boolean>`workspace_id = ${owner.workspaceId}`
    : sql<boolean>`variable_set_id = ${owner.variableSetId}`
}

export async function findVariable(db: Db, owner: VariableOwner, id: string) {
  return db.selectFrom('variables').selectAll().where('id', '=', id).where(of(owner)).executeTakeFirst()
}

export async function findWorkspaceVariable(db: Db, id: string) {
  return db
    .selectFrom('variables')
    .select(['id', 'workspace_id'])
    .where('id', '=', id)
    .where('workspace_id', 'is not', null)
    .executeTakeFirst()
}

export async function listVariables(db: Db, owner: VariableOwner) {
  return selectVariables(db, owner).execute()
}

/** The query of `listVariables`. */
export function selectVariables(db: Db, owner: VariableOwner) {
  return db.selectFrom('variables').selectAll().where(of(owner)).orderBy('key').orderBy('category')
}

/** The variables of several workspaces, which the caller may read. */
export async function listVariablesOfWorkspaces(db: Db, workspaceIds: readonly string[]) {
  return db
    .selectFrom('variables')
    .selectAll()
    .where(sql<boolean>`workspace_id = any(${workspaceIds})`)
    .orderBy('key')
    .orderBy('category')
    .execute()
}

/** The variables of several sets. */
export async function listVariablesOfSets(db: Db, variableSetIds: readonly string[]) {
  return db
    .selectFrom('variables')
    .selectAll()
    .where(sql<boolean>`variable_set_id = any(${variableSetIds})`)
    .orderBy('key')
    .orderBy('category')
    .execute()
}

export async function insertVariable(db: Db, row: Insertable<Schema['variables']>) {
  return db.insertInto('variables').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateVariable(db: Db, id: string, changes: Updateable<Schema['variables']>) {
  return db.updateTable('variables').set(changes).where('id', '=', id).returningAll().executeTakeFirst()
}

export async function lockVariable(db: Db, owner: VariableOwner, id: string) {
  return db.selectFrom('variables').selectAll().where('id', '=', id).where(of(owner)).forUpdate().executeTakeFirst()
}

/** Locks the rows in the order of their ids, so that two such changes never deadlock. Returns the ids found. */
export async function lockVariables(tx: Tx, owner: VariableOwner, ids: readonly string[]) {
  const rows = await tx
    .selectFrom('variables')
    .select('id')
    .where(sql<boolean>`id = any(${ids})`)
    .where(of(owner))
    .orderBy('id')
    .forUpdate()
    .execute()
  return rows.map(({ id }) => id)
}

export async function deleteVariable(db: Db, owner: VariableOwner, id: string) {
  return db.deleteFrom('variables').where('id', '=', id).where(of(owner)).returningAll().executeTakeFirst()
}
