import type { ModuleDocuments } from '@groundstate/contract/module-documents'
import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'
import { repositoryColumn } from '../../vcs/repositories/store.ts'

type Modules = Schema['registry_modules']
type Versions = Schema['registry_module_versions']
export type VersionRow = Selectable<Versions>
/** `updated_at` is in ISO 8601: for a published version, when it was published. */
export type VersionSummary = Pick<VersionRow, 'id' | 'version' | 'status' | 'error'> & { updated_at: string }
export type ModuleRow = NonNullable<Awaited<ReturnType<typeof findModule>>>

const versionsColumn = sql<VersionSummary[]>`coalesce((
  select jsonb_agg(jsonb_build_object('id', v.id, 'version', v.version, 'status', v.status, 'error', v.error,
           'updated_at', v.updated_at))
    from registry_module_versions v where v.registry_module_id = w.id), '[]')`

const workspaceCountColumn = sql<number>`(select count(distinct u.workspace_id)
    from registry_module_uses u where u.registry_module_id = w.id)`

/** Modules as `w`, which is the name that `repositoryColumn` expects of what has a repository. */
function selectModules(db: Db) {
  return db
    .selectFrom('registry_modules as w')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .selectAll('w')
    .select(['o.name as organization_name', repositoryColumn.as('repository'), versionsColumn.as('versions')])
    .select([workspaceCountColumn.as('workspace_count')])
}

export async function findModule(db: Db, id: string) {
  return selectModules(db).where('w.id', '=', id).executeTakeFirst()
}

/** `namespace` is null for a private module, undefined for any. */
export type Address = {
  organizationId: string
  namespace: string | null | undefined
  name: string
  provider?: string | undefined
}

/** The modules of an address: one, or those of all providers. Addresses ignore case. */
export async function listModulesOf(db: Db, { organizationId, namespace, name, provider }: Address) {
  let query = selectModules(db)
    .where('w.organization_id', '=', organizationId)
    .where(sql<boolean>`lower(w.name) = lower(${name})`)
  if (namespace !== undefined)
    query = query.where(sql<boolean>`coalesce(lower(w.namespace), '') = lower(${namespace ?? ''})`)
  if (provider !== undefined) query = query.where(sql<boolean>`lower(w.provider) = lower(${provider})`)
  return query.orderBy('w.id').execute()
}

export type ModuleFilter = { q?: string | undefined; provider?: string | undefined; registryName?: string | undefined }

export async function listModules(
  db: Db,
  organizationId: string,
  { filter, page }: { filter: ModuleFilter; page: Page },
) {
  const matches = sql<boolean>`w.organization_id = ${organizationId}
    and (${filter.provider ?? null}::text is null or lower(w.provider) = lower(${filter.provider ?? null}))
    and (${filter.registryName ?? null}::text is null or w.registry_name = ${filter.registryName ?? null})
    and (${filter.q ?? null}::text is null or concat_ws('/', coalesce(w.namespace, o.name), w.name, w.provider)
      ilike ${containing(filter.q ?? '')})`
  const all = db
    .selectFrom('registry_modules as w')
    .innerJoin('organizations as o', 'o.id', 'w.organization_id')
    .where(matches)
  const rows = selectModules(db)
    .where(matches)
    .orderBy(sql`lower(w.name)`)
    .orderBy('w.id')
  return readPaged(page, rows, all)
}

const isPublished = sql<boolean>`w.registry_name = 'private'
  and exists (select from registry_module_versions v where v.registry_module_id = w.id and v.status = 'ok')`

/** The organizations that have published modules, whoever may see them. */
export async function listPublishingOrganizations(db: Db) {
  const rows = await db
    .selectFrom('registry_modules as w')
    .select('w.organization_id')
    .distinct()
    .where(isPublished)
    .execute()
  return rows.map(({ organization_id: id }) => id)
}

export type PublishedFilter = { terms: readonly string[]; provider?: string | undefined }

/** Published modules of organizations whose addresses contain all terms. `limit` is a number of rows. */
export async function listPublished(
  db: Db,
  organizationIds: readonly string[],
  { terms, provider, limit, offset }: PublishedFilter & { limit: number; offset: number },
) {
  return selectModules(db)
    .where(sql<boolean>`w.organization_id = any(${organizationIds})`)
    .where(isPublished)
    .where(sql<boolean>`concat_ws('/', o.name, w.name, w.provider) ilike all(${terms.map(containing)}::text[])`)
    .where(sql<boolean>`lower(w.provider) = lower(coalesce(${provider ?? null}, w.provider))`)
    .orderBy(sql`lower(o.name)`)
    .orderBy(sql`lower(w.name)`)
    .orderBy(sql`lower(w.provider)`)
    .limit(limit)
    .offset(offset)
    .execute()
}

export async function insertModule(db: Db, row: Insertable<Modules>) {
  await db.insertInto('registry_modules').values(row).execute()
}

export async function updateModule(db: Db, id: string, changes: Updateable<Modules>) {
  await db.updateTable('registry_modules').set(changes).where('id', '=', id).execute()
}

/** Changes the status of a module without published versions. */
export async function setSetupStatus(db: Db, id: string, changes: Pick<Updateable<Modules>, 'status' | 'updated_at'>) {
  const update = db.updateTable('registry_modules').set(changes).where('id', '=', id)
  await update.where('status', '<>', 'setup_complete').execute()
}

/** Locks a module, so that its deletion and a publication exclude each other; false if it is gone. */
export async function lockModule(db: Db, id: string) {
  const row = await db.selectFrom('registry_modules').select('id').where('id', '=', id).forUpdate().executeTakeFirst()
  return row !== undefined
}

export async function deleteModule(db: Db, id: string) {
  await db.deleteFrom('registry_modules').where('id', '=', id).execute()
}

export async function insertVersion(db: Db, row: Insertable<Versions>) {
  return db.insertInto('registry_module_versions').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function findVersion(db: Db, moduleId: string, version: string) {
  return db
    .selectFrom('registry_module_versions')
    .selectAll()
    .where('registry_module_id', '=', moduleId)
    .where('version', '=', version)
    .executeTakeFirst()
}

/** A version and its organization without an access check, for signed URLs. */
export async function findVersionRow(db: Db, id: string) {
  return db
    .selectFrom('registry_module_versions as v')
    .innerJoin('registry_modules as m', 'm.id', 'v.registry_module_id')
    .selectAll('v')
    .select(['m.organization_id', 'm.name', 'm.provider'])
    .where('v.id', '=', id)
    .executeTakeFirst()
}

/** Changes a version that is not published; undefined if it is, or gone. */
export async function updateVersion(db: Db, id: string, changes: Updateable<Versions>) {
  return db
    .updateTable('registry_module_versions')
    .set(changes)
    .where('id', '=', id)
    .where('status', '<>', 'ok')
    .returningAll()
    .executeTakeFirst()
}

export async function deleteVersion(db: Db, id: string) {
  await db.deleteFrom('registry_module_versions').where('id', '=', id).execute()
}

export async function listBlobKeys(db: Db, moduleId: string) {
  const rows = await db
    .selectFrom('registry_module_versions')
    .select('blob_key')
    .where('registry_module_id', '=', moduleId)
    .execute()
  return rows.flatMap(({ blob_key: key }) => key ?? [])
}

export async function findNamedKeys(db: Db, keys: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('registry_module_versions')
    .select('blob_key')
    .where(sql<boolean>`blob_key = any(${keys})`)
    .execute()
  return new Set(rows.flatMap(({ blob_key: key }) => key ?? []))
}

/** The documents of a version, as `module-documents` has read them; undefined before. */
export async function findDocuments(db: Db, moduleId: string, version: string): Promise<ModuleDocuments | undefined> {
  const row = await db
    .selectFrom('registry_module_documents as d')
    .innerJoin('registry_module_versions as v', 'v.id', 'd.registry_module_version_id')
    .select('d.documents')
    .where('v.registry_module_id', '=', moduleId)
    .where('v.version', '=', version)
    .executeTakeFirst()
  return row?.documents as ModuleDocuments | undefined
}
