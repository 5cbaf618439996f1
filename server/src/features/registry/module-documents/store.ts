import type { ModuleDocuments } from '@groundstate/contract/module-documents'
import { storableJson } from '@groundstate/contract/storable'
import type { Db } from '../../../db/db.ts'

export async function findArchive(db: Db, versionId: string) {
  return db
    .selectFrom('registry_module_versions as v')
    .innerJoin('registry_modules as m', 'm.id', 'v.registry_module_id')
    .select(['v.id', 'v.registry_module_id', 'v.blob_key', 'm.organization_id'])
    .where('v.id', '=', versionId)
    .executeTakeFirst()
}

const MAX_UNDOCUMENTED = 1000

/** Versions that were published before a time and have no documents; not all of very many. */
export async function listUndocumented(db: Db, before: Date) {
  const rows = await db
    .selectFrom('registry_module_versions as v')
    .leftJoin('registry_module_documents as d', 'd.registry_module_version_id', 'v.id')
    .select('v.id')
    .where('v.status', '=', 'ok')
    .where('v.updated_at', '<', before)
    .where('d.registry_module_version_id', 'is', null)
    .limit(MAX_UNDOCUMENTED)
    .execute()
  return rows.map(({ id }) => id)
}

export async function findDocuments(db: Db, versionId: string) {
  return db
    .selectFrom('registry_module_documents')
    .select(['documents', 'read_at'])
    .where('registry_module_version_id', '=', versionId)
    .executeTakeFirst()
}

/** Inserts the documents of a version unless it was deleted or has some. */
export async function insertDocuments(db: Db, versionId: string, documents: ModuleDocuments, now: Date) {
  await db
    .insertInto('registry_module_documents')
    .columns(['registry_module_version_id', 'documents', 'read_at'])
    .expression((eb) =>
      eb
        .selectFrom('registry_module_versions')
        .select(({ val }) => [
          'id',
          val(storableJson(JSON.stringify(documents))).as('documents'),
          val(now).as('read_at'),
        ])
        .where('id', '=', versionId),
    )
    .onConflict((conflict) => conflict.column('registry_module_version_id').doNothing())
    .execute()
}
