import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import { type Selectable, type Updateable, sql } from 'kysely'
import type { Db, Page, Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { isRepositoryUsed } from '../../vcs/repositories/store.ts'

export type RepositoryRow = Selectable<Schema['repositories']>

/** False if the repository no longer exists. */
export async function updateRepository(db: Db, id: string, changes: Updateable<Schema['repositories']>) {
  const update = db.updateTable('repositories').set(changes).where('id', '=', id)
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n
}

export type UsedRepository = Awaited<ReturnType<typeof listUsedRepositories>>['rows'][number]

/** The repositories of a connection that are used. */
export async function listUsedRepositories(db: Db, clientId: string, page: Page) {
  const all = db
    .selectFrom('repositories as r')
    .innerJoin('oauth_tokens as t', 't.id', 'r.oauth_token_id')
    .innerJoin('oauth_clients as c', 'c.id', 't.oauth_client_id')
    .where('c.id', '=', clientId)
    .where(isRepositoryUsed())
  const list = all
    .selectAll('r')
    .select(sql<ServiceProvider>`c.service_provider`.as('service_provider'))
    .select('t.oauth_client_id')
    .select([
      sql<number>`(select count(*) from workspaces w where w.repository_id = r.id)`.as('workspace_count'),
      sql<Date | null>`(select max(d.received_at) from vcs_deliveries d where d.repository_id = r.id)`.as(
        'last_delivery_at',
      ),
    ])
    .orderBy('r.identifier')
    .orderBy('r.id')
  return readPaged(page, list, all)
}

/** Deletes a repository that nothing uses; undefined if something does. */
export async function deleteUnusedRepository(db: Tx, id: string): Promise<RepositoryRow | undefined> {
  // Only a statement after the lock sees what is being connected.
  await db.selectFrom('repositories').select('id').where('id', '=', id).forUpdate().execute()
  return db
    .deleteFrom('repositories')
    .where('id', '=', id)
    .where(sql<boolean>`not ${isRepositoryUsed(sql`repositories.id`)}`)
    .returningAll()
    .executeTakeFirst()
}

/** Repositories with a webhook on the host, of the tokens. */
export async function listRegistered(db: Db, tokenIds: readonly string[]): Promise<RepositoryRow[]> {
  return db
    .selectFrom('repositories')
    .selectAll()
    .where(sql<boolean>`oauth_token_id = any(${tokenIds})`)
    .where('webhook_id', 'is not', null)
    .execute()
}

/** Repositories of a token that its host has refused, or that git could not read before they got a webhook. */
export async function listWithProblems(db: Db, tokenId: string) {
  const rows = await db
    .selectFrom('repositories')
    .select('id')
    .where('oauth_token_id', '=', tokenId)
    .where(sql<boolean>`(webhook_error is not null or (read_error is not null and webhook_id is null))`)
    .execute()
  return rows.map(({ id }) => id)
}

export async function listTokenIds(db: Db, organizationId: string) {
  const rows = await db
    .selectFrom('oauth_tokens as t')
    .innerJoin('oauth_clients as c', 'c.id', 't.oauth_client_id')
    .select('t.id')
    .where('c.organization_id', '=', organizationId)
    .execute()
  return rows.map(({ id }) => id)
}
