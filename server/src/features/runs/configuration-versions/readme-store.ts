import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { deferWrite } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type ReadmeRow = Pick<Selectable<Schema['configuration_readmes']>, 'path' | 'markdown' | 'is_cut'>

type Key = { versionId: string; workingDirectory: string }

/** The cached README; undefined before the first read, a null path when there is none. */
export async function findReadme(db: Db, { versionId, workingDirectory }: Key): Promise<ReadmeRow | undefined> {
  return db
    .selectFrom('configuration_readmes')
    .select(['path', 'markdown', 'is_cut'])
    .where('configuration_version_id', '=', versionId)
    .where('working_directory', '=', workingDirectory)
    .executeTakeFirst()
}

/** Deletes what is known of archives that have just been deleted, with the next statement of the transaction. */
export async function deleteReadmes(tx: Tx, versionIds: readonly string[]) {
  await deferWrite(
    tx,
    tx.deleteFrom('configuration_readmes').where(sql<boolean>`configuration_version_id = any(${versionIds})`),
  )
}

/** Keeps what was found, unless the archive has gone meanwhile. */
export async function insertReadme(
  db: Db,
  { versionId, workingDirectory }: Key,
  { path, markdown, is_cut: isCut }: ReadmeRow,
) {
  await sql`insert into configuration_readmes (configuration_version_id, working_directory, path, markdown, is_cut)
    select cv.id, ${workingDirectory}, ${path}, ${markdown}, ${isCut}
      from configuration_versions cv where cv.id = ${versionId} and cv.status = 'uploaded' for share
    on conflict do nothing`.execute(db)
}
