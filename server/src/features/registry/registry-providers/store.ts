import type { RegistryName } from '@groundstate/contract/registry-providers'
import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'

export type ProviderRow = Omit<Selectable<Schema['registry_providers']>, 'namespace'> & {
  namespace: string
  organization_name: string
}
/** A version without its files. */
export type VersionRow = Omit<Selectable<Schema['registry_provider_versions']>, 'shasums' | 'shasums_signature'> & {
  has_shasums: boolean
  has_signature: boolean
  /** Whether the organization has its key. */
  has_key: boolean
  platform_ids: string[]
  has_package: boolean
  provider: ProviderRow
}
export type PlatformRow = Selectable<Schema['registry_provider_platforms']>

function selectProviders(db: Db) {
  return db
    .selectFrom('registry_providers as p')
    .innerJoin('organizations as o', 'o.id', 'p.organization_id')
    .select(['p.id', 'p.organization_id', 'p.registry_name', 'p.name', 'p.tags', 'p.created_at', 'p.updated_at'])
    .select([sql<string>`coalesce(p.namespace, o.name)`.as('namespace'), 'o.name as organization_name'])
}

export async function findProvider(db: Db, id: string): Promise<ProviderRow | undefined> {
  return selectProviders(db).where('p.id', '=', id).executeTakeFirst()
}

export type ProviderAddress = { organizationId: string; registryName: RegistryName; namespace: string; name: string }

/** Names are found whatever their case, since Terraform lower-cases them. */
export async function findProviderByAddress(db: Db, address: ProviderAddress): Promise<ProviderRow | undefined> {
  return selectProviders(db)
    .where('p.organization_id', '=', address.organizationId)
    .where('p.registry_name', '=', address.registryName)
    .where(sql<boolean>`lower(coalesce(p.namespace, o.name)) = lower(${address.namespace})`)
    .where(sql<boolean>`lower(p.name) = lower(${address.name})`)
    .executeTakeFirst()
}

type ProviderFilter = {
  organizationId: string
  q: string | undefined
  registryName: RegistryName | undefined
  page: Page
}

export async function listProviders(db: Db, { organizationId, q, registryName, page }: ProviderFilter) {
  const matching = selectProviders(db)
    .where('p.organization_id', '=', organizationId)
    .$if(registryName !== undefined, (query) => query.where('p.registry_name', '=', registryName ?? 'private'))
    .$if(q !== undefined, (query) =>
      query.where(
        sql<boolean>`(p.name ilike ${containing(String(q))} or coalesce(p.namespace, o.name) ilike ${containing(String(q))})`,
      ),
    )
  const rows: ProviderRow[] = await matching
    .orderBy(sql`lower(p.name)`)
    .orderBy('p.id')
    .limit(page.size)
    .offset(pageOffset(page))
    .execute()
  const { total } = await matching
    .clearSelect()
    .select(sql<number>`count(*)`.as('total'))
    .executeTakeFirstOrThrow()
  return { rows, total }
}

export async function insertProvider(db: Db, row: Insertable<Schema['registry_providers']>) {
  await db.insertInto('registry_providers').values(row).execute()
}

/** Locks a provider, so that its deletion and the report of a use exclude each other. */
export async function lockProvider(tx: Tx, id: string) {
  await tx.selectFrom('registry_providers').select('id').where('id', '=', id).forUpdate().execute()
}

export async function updateProvider(db: Db, id: string, changes: Updateable<Schema['registry_providers']>) {
  await db.updateTable('registry_providers').set(changes).where('id', '=', id).execute()
}

export async function deleteProvider(db: Db, id: string) {
  await db.deleteFrom('registry_providers').where('id', '=', id).execute()
}

const VERSION = sql<Omit<VersionRow, 'provider'>>`v.id, v.registry_provider_id, v.version, v.protocols, v.key_id,
  v.created_at, v.updated_at, v.shasums is not null as has_shasums, v.shasums_signature is not null as has_signature,
  exists (select from gpg_keys k join registry_providers kp on kp.organization_id = k.organization_id
           where kp.id = v.registry_provider_id and k.key_id = upper(v.key_id)) as has_key,
  array(select l.id from registry_provider_platforms l where l.registry_provider_version_id = v.id
         order by l.os, l.arch) as platform_ids,
  exists (select from registry_provider_platforms l where l.registry_provider_version_id = v.id
           and l.blob_key is not null) as has_package`

type VersionsOf = { of: ProviderRow; version?: string | undefined; page?: Page | undefined }

/** Versions of a provider, latest first. */
export async function listVersions(db: Db, { of: provider, version, page }: VersionsOf): Promise<VersionRow[]> {
  const { rows } = await sql<Omit<VersionRow, 'provider'>>`
    select ${VERSION} from registry_provider_versions v where v.registry_provider_id = ${provider.id}
    ${version === undefined ? sql`` : sql`and v.version = ${version}`}
    order by v.created_at desc, v.id ${page ? sql`limit ${page.size} offset ${pageOffset(page)}` : sql``}`.execute(db)
  return rows.map((row) => ({ ...row, provider }))
}

export async function countVersions(db: Db, providerId: string) {
  const { total } = await db
    .selectFrom('registry_provider_versions')
    .select(sql<number>`count(*)`.as('total'))
    .where('registry_provider_id', '=', providerId)
    .executeTakeFirstOrThrow()
  return total
}

export async function listVersionsOf(db: Db, providers: readonly ProviderRow[]): Promise<VersionRow[]> {
  const byId = new Map(providers.map((provider) => [provider.id, provider]))
  const { rows } = await sql<Omit<VersionRow, 'provider'>>`
    select ${VERSION} from registry_provider_versions v where v.registry_provider_id = any(${[...byId.keys()]})
    order by v.created_at desc, v.id`.execute(db)
  return rows.flatMap((row) => {
    const provider = byId.get(row.registry_provider_id)
    return provider ? [{ ...row, provider }] : []
  })
}

export async function listProvidersById(db: Db, ids: readonly string[]): Promise<ProviderRow[]> {
  return selectProviders(db)
    .where(sql<boolean>`p.id = any(${ids})`)
    .execute()
}

export async function findVersion(db: Db, id: string): Promise<VersionRow | undefined> {
  const found = await db
    .selectFrom('registry_provider_versions')
    .select(['registry_provider_id', 'version'])
    .where('id', '=', id)
    .executeTakeFirst()
  const provider = found && (await findProvider(db, found.registry_provider_id))
  return provider && (await listVersions(db, { of: provider, version: found.version }))[0]
}

export async function insertVersion(db: Db, row: Insertable<Schema['registry_provider_versions']>) {
  await db.insertInto('registry_provider_versions').values(row).execute()
}

/** The files of a version, whose row stays locked: files and platforms are checked against each other. */
export async function lockVersion(tx: Tx, id: string) {
  return tx
    .selectFrom('registry_provider_versions')
    .select(['id', 'shasums', 'shasums_signature', 'key_id'])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst()
}

export async function findFiles(db: Db, id: string) {
  return db
    .selectFrom('registry_provider_versions')
    .select(['shasums', 'shasums_signature'])
    .where('id', '=', id)
    .executeTakeFirst()
}

type Files = { shasums?: Buffer; shasums_signature?: Buffer; updated_at: Date }

export async function updateFiles(db: Db, id: string, files: Files) {
  await db.updateTable('registry_provider_versions').set(files).where('id', '=', id).execute()
}

export async function deleteVersion(db: Db, id: string) {
  await db.deleteFrom('registry_provider_versions').where('id', '=', id).execute()
}

export async function listPlatforms(db: Db, versionIds: readonly string[]): Promise<PlatformRow[]> {
  return db
    .selectFrom('registry_provider_platforms')
    .selectAll()
    .where(sql<boolean>`registry_provider_version_id = any(${versionIds})`)
    .orderBy('os')
    .orderBy('arch')
    .execute()
}

export async function findPlatform(db: Db, id: string): Promise<PlatformRow | undefined> {
  return db.selectFrom('registry_provider_platforms').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function insertPlatform(db: Db, row: Insertable<Schema['registry_provider_platforms']>) {
  return db.insertInto('registry_provider_platforms').values(row).returningAll().executeTakeFirstOrThrow()
}

/** Returns whether the platform had no archive yet. */
export async function setPackage(db: Db, id: string, archive: { blob_key: string; size: number }) {
  const { numUpdatedRows } = await db
    .updateTable('registry_provider_platforms')
    .set(archive)
    .where('id', '=', id)
    .where('blob_key', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function deletePlatform(db: Db, id: string) {
  await db.deleteFrom('registry_provider_platforms').where('id', '=', id).execute()
}

/** Keys of blobs among `keys` that platforms name. */
export async function findPackageKeys(db: Db, keys: readonly string[]) {
  const rows = await db
    .selectFrom('registry_provider_platforms')
    .select('blob_key')
    .where(sql<boolean>`blob_key = any(${keys})`)
    .execute()
  return new Set(rows.flatMap(({ blob_key: key }) => key ?? []))
}
