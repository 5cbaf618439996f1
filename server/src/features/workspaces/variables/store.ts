import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { insertRows, recordset } from '../../../db/sql.ts'
import type { TextDigest } from '../../../terraform-state/known-values.ts'

export type VariableRow = Selectable<Schema['variables']>
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
  const query = db.selectFrom('variables').select('workspace_id').where('id', '=', id)
  return query.where('workspace_id', 'is not', null).executeTakeFirst()
}

export async function listVariables(db: Db, owner: VariableOwner) {
  return selectVariables(db, owner).execute()
}

export function selectVariables(db: Db, owner: VariableOwner) {
  return selectSorted(db, of(owner))
}

export async function listVariablesOfWorkspaces(db: Db, workspaceIds: readonly string[]) {
  return selectSorted(db, sql`workspace_id = any(${workspaceIds})`).execute()
}

export async function listVariablesOfSets(db: Db, variableSetIds: readonly string[]) {
  return selectSorted(db, sql`variable_set_id = any(${variableSetIds})`).execute()
}

/** Variables, without values, that have the key of one in the set: of the workspaces and of other sets. */
export async function listVariablesWithKeysOf(
  db: Db,
  variableSetId: string,
  { workspaceIds, setIds }: Record<'workspaceIds' | 'setIds', readonly string[]>,
) {
  return db
    .selectFrom('variables')
    .select(['id', 'key', 'category', 'workspace_id', 'variable_set_id'])
    .where(sql<boolean>`(workspace_id = any(${workspaceIds}) or variable_set_id = any(${setIds}))
      and (category, key) in (select category, key from variables where variable_set_id = ${variableSetId})`)
    .orderBy('key')
    .orderBy('category')
    .execute()
}

function selectSorted(db: Db, condition: RawBuilder<boolean>) {
  return db.selectFrom('variables').selectAll().where(condition).orderBy('key').orderBy('category')
}

export async function insertVariables(db: Db, rows: readonly VariableRow[]) {
  await insertRows(db, 'variables', rows).execute()
}

/** Overwrites the rows, which are locked. */
export async function updateVariables(tx: Tx, rows: readonly VariableRow[]) {
  await sql`update variables v
     set key = n.key, category = n.category, sensitive = n.sensitive, value = n.value, sealed_value = n.sealed_value,
         description = n.description, hcl = n.hcl, version_id = n.version_id, updated_at = n.updated_at
    from ${recordset('variables', rows)} n where v.id = n.id`.execute(tx)
}

/** Locks the rows in the order of their ids, so that concurrent changes cannot deadlock. */
export async function lockVariables(tx: Tx, owner: VariableOwner, ids: readonly string[]) {
  return tx
    .selectFrom('variables')
    .selectAll()
    .where(sql<boolean>`id = any(${ids})`)
    .where(of(owner))
    .orderBy('id')
    .forUpdate()
    .execute()
}

export async function deleteVariable(db: Db, owner: VariableOwner, id: string) {
  return db.deleteFrom('variables').where('id', '=', id).where(of(owner)).returningAll().executeTakeFirst()
}

/** Maximum number of digests of former values of a workspace or set; the newest are kept. */
const MAX_FORMER_VALUES = 500

type FormerValues = { organizationId: string; digests: readonly TextDigest[]; now: Date }

export async function insertFormerValues(tx: Tx, owner: VariableOwner, { organizationId, digests, now }: FormerValues) {
  const rows = digests.slice(0, MAX_FORMER_VALUES).map((one) => ({
    organization_id: organizationId,
    workspace_id: 'workspaceId' in owner ? owner.workspaceId : null,
    variable_set_id: 'variableSetId' in owner ? owner.variableSetId : null,
    ...one,
    replaced_at: now,
  }))
  const replaced = rows.map(({ digest }) => digest)
  await sql`delete from former_sensitive_values where ${of(owner)} and (digest = any(${replaced}) or digest in (
    select digest from former_sensitive_values where ${of(owner)}
     order by replaced_at desc, digest offset ${MAX_FORMER_VALUES - rows.length}))`.execute(tx)
  await insertRows(tx, 'former_sensitive_values', rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
