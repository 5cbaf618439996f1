import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import type { Db, Page, Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type NewRow, insertRows } from '../../../db/sql.ts'

export type TagBindingRow = Selectable<Schema['tag_bindings']>
export type TagTarget = { organizationId: string } & ({ workspaceId: string } | { projectId: string })

function of(target: TagTarget) {
  return 'workspaceId' in target
    ? sql<boolean>`workspace_id = ${target.workspaceId}`
    : sql<boolean>`project_id = ${target.projectId}`
}

export async function listTagBindings(db: Db, target: TagTarget) {
  return db.selectFrom('tag_bindings').selectAll().where(of(target)).orderBy('key').execute()
}

/** An effective tag of `for_id`, and the project that it is inherited from. */
export type EffectiveTagBinding = {
  for_id: string
  id: string
  key: string
  value: string
  created_at: Date
  inherited_from: string | null
}

/** The tags of projects as effective ones: projects inherit none. */
export async function listProjectsTagBindings(db: Db, projectIds: readonly string[]): Promise<EffectiveTagBinding[]> {
  const { rows } = await sql<EffectiveTagBinding>`
    select b.project_id as for_id, b.id, b.key, b.value, b.created_at, null as inherited_from
      from tag_bindings b where b.project_id = any(${projectIds}) order by b.project_id, b.key`.execute(db)
  return rows
}

/** A key among `keys` whose value a workspace, which is returned with it, cannot override. */
export async function findFixedKey(db: Db, workspaceIds: readonly string[], keys: readonly string[]) {
  return db
    .selectFrom('workspaces as w')
    .innerJoin('tag_bindings as b', 'b.project_id', 'w.project_id')
    .innerJoin('reserved_tag_keys as r', (join) =>
      join.onRef('r.organization_id', '=', 'w.organization_id').onRef('r.key', '=', 'b.key'),
    )
    .select(['b.key', 'w.id as workspace_id', 'w.name as workspace_name'])
    .where(sql<boolean>`w.id = any(${workspaceIds})`)
    .where('r.disable_overrides', '=', true)
    .where(sql<boolean>`b.key = any(${keys})`)
    .limit(1)
    .executeTakeFirst()
}

/** Inserts bindings. Those in `keep` stay unchanged: all with that key, or flat tags that get no value. Others get the new value. */
export async function upsertTagBindings(
  tx: Tx,
  rows: readonly NewRow<'tag_bindings'>[],
  { keep }: { keep: 'all' | 'flat' | 'none' },
) {
  if (rows.length === 0) return
  await insertRows(tx, 'tag_bindings', rows)
    .onConflict((conflict) => {
      const target = rows[0]?.workspace_id ? 'workspace_id' : 'project_id'
      const onKey = conflict.columns([target, 'key']).where(target, 'is not', null)
      if (keep === 'all') return onKey.doNothing()
      return onKey
        .doUpdateSet((eb) => ({ value: eb.ref('excluded.value'), is_binding: eb.ref('excluded.is_binding') }))
        .where(sql<boolean>`${keep === 'none'} or excluded.value <> '' or tag_bindings.value <> ''`)
    })
    .execute()
}

/** Deletes the bindings without one of the keys. Flat tags of workspaces stay. */
export async function deleteOtherTagBindings(tx: Tx, target: TagTarget, keys: readonly string[]) {
  await tx
    .deleteFrom('tag_bindings')
    .where(of(target))
    .where(sql<boolean>`key <> all(${keys}) and (value <> '' or is_binding or project_id is not null)`)
    .execute()
}

export type ReservedTagKeyRow = Selectable<Schema['reserved_tag_keys']>

export async function findReservedTagKey(db: Db, id: string) {
  return db.selectFrom('reserved_tag_keys').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function listReservedTagKeys(db: Db, organizationId: string, page: Page) {
  const all = db.selectFrom('reserved_tag_keys').where('organization_id', '=', organizationId)
  return readPaged(page, all.selectAll().orderBy('key'), all)
}

export async function insertReservedTagKey(db: Db, row: Insertable<Schema['reserved_tag_keys']>) {
  return db.insertInto('reserved_tag_keys').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateReservedTagKey(db: Db, id: string, changes: Updateable<Schema['reserved_tag_keys']>) {
  return db.updateTable('reserved_tag_keys').set(changes).where('id', '=', id).returningAll().executeTakeFirstOrThrow()
}

export async function deleteReservedTagKey(db: Db, id: string) {
  await db.deleteFrom('reserved_tag_keys').where('id', '=', id).execute()
}

export async function listKeysOfTagIds(db: Db, organizationId: string, ids: readonly string[]) {
  return db
    .selectFrom('tag_bindings')
    .select(['tag_id', 'key'])
    .distinct()
    .where('organization_id', '=', organizationId)
    .where(sql<boolean>`tag_id = any(${ids})`)
    .execute()
}
