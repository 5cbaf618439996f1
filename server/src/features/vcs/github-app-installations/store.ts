import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type InstallationRow = Selectable<Schema['github_app_installations']>

export async function findInstallation(db: Db, id: string): Promise<InstallationRow | undefined> {
  return db.selectFrom('github_app_installations').selectAll().where('id', '=', id).executeTakeFirst()
}

/** As `findInstallation`, with the name of the organization. */
export async function findInstallationConnection(db: Db, id: string) {
  return db
    .selectFrom('github_app_installations as i')
    .innerJoin('organizations as o', 'o.id', 'i.organization_id')
    .selectAll('i')
    .select('o.name as organization_name')
    .where('i.id', '=', id)
    .executeTakeFirst()
}

export type InstallationFilter = { name: string | undefined; installationId: string | undefined }
type ListInstallations = { organizationIds: readonly string[]; filter?: InstallationFilter; page: Page }

export async function listInstallations(db: Db, { organizationIds, filter, page }: ListInstallations) {
  const { name, installationId } = filter ?? {}
  const matches = sql<boolean>`organization_id = any(${organizationIds})
    ${name === undefined ? sql`` : sql`and lower(name) = lower(${name})`}
    ${installationId === undefined ? sql`` : sql`and installation_id::text = ${installationId}`}`
  const all = db.selectFrom('github_app_installations').where(matches)
  return readPaged(page, all.selectAll().orderBy('name').orderBy('id'), all)
}

/** Ids of organizations with installations. */
export async function listLinkingOrganizations(db: Db) {
  const rows = await db.selectFrom('github_app_installations').select('organization_id').distinct().execute()
  return rows.map((row) => row.organization_id)
}

/** The linked installations with the number that GitHub has given to one. */
export async function listLinked(
  db: Db,
  { installationId, httpUrl }: { installationId: number; httpUrl: string },
): Promise<InstallationRow[]> {
  return db
    .selectFrom('github_app_installations')
    .selectAll()
    .where('installation_id', '=', installationId)
    .where('http_url', '=', httpUrl)
    .orderBy('id')
    .execute()
}

/**
 * Links an installation to an organization. One of the same account that was removed on GitHub gets the new number, so that workspaces
 * keep their repositories.
 */
export async function putInstallation(db: Db, row: Insertable<Schema['github_app_installations']>): Promise<string> {
  const { id: _, organization_id: organizationId, created_at: __, ...columns } = row
  const known = await db
    .updateTable('github_app_installations')
    .set({ ...columns, failed_at: null, failure: null })
    .where('organization_id', '=', organizationId)
    .where(({ or, and, eb }) =>
      or([
        eb('installation_id', '=', row.installation_id),
        and([eb('name', '=', row.name), eb('http_url', '=', row.http_url), eb('failed_at', 'is not', null)]),
      ]),
    )
    .returning('id')
    .executeTakeFirst()
  if (known) return known.id
  await db.insertInto('github_app_installations').values(row).execute()
  return row.id
}

export async function deleteInstallation(db: Db, id: string) {
  await db.deleteFrom('github_app_installations').where('id', '=', id).execute()
}
