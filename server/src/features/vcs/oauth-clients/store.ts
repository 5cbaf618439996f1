import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import { accessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { visibleProject, visibleWorkspace } from '../../../auth/visibility.ts'
import type { Db, Page, Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type OAuthClientRow = Awaited<ReturnType<typeof listOAuthClients>>['rows'][number]

/** A connection without its secrets, with its newest token and those of its projects that the actor may see. */
function selectClients(db: Db, actor: Actor) {
  return db
    .selectFrom('oauth_clients as c')
    .innerJoin('organizations as o', 'o.id', 'c.organization_id')
    .select(['c.id', 'c.organization_id', 'c.uuid', 'c.name', 'c.service_provider', 'c.http_url', 'c.api_url', 'c.key'])
    .select(['c.rsa_public_key', 'c.ado_entra_tenant_id', 'c.organization_scoped', 'c.fork_plans_enabled'])
    .select(['c.polling_enabled', 'c.agent_pool_id', 'c.blocked_until', 'c.created_at', 'c.updated_at'])
    .select('o.name as organization_name')
    .select([
      sql<string[]>`array(select t.id from oauth_tokens t where t.oauth_client_id = c.id
        order by t.created_at, t.id)`.as('token_ids'),
      sql<string[]>`array(select p.id from oauth_client_projects s join projects p on p.id = s.project_id
        where s.oauth_client_id = c.id and ${visibleProject(actor)} order by p.id)`.as('project_ids'),
      sql<
        string | null
      >`(select t.failure from oauth_tokens t where t.oauth_client_id = c.id and t.failed_at is not null
        order by t.created_at desc limit 1)`.as('failure'),
      sql<{ since: string; message: string } | null>`(
        select jsonb_build_object('since', t.unreachable_since, 'message', t.unreachable) from oauth_tokens t
         where t.oauth_client_id = c.id and t.unreachable_since is not null order by t.created_at desc limit 1)`.as(
        'unreachable',
      ),
    ])
}

export async function findOAuthClient(db: Db, actor: Actor, id: string) {
  return selectClients(db, actor)
    .select(accessColumn(actor, { organizationId: sql`c.organization_id` }).as('access'))
    .where('c.id', '=', id)
    .executeTakeFirst()
}

export async function findOAuthClients(db: Db, actor: Actor, ids: readonly string[]) {
  return selectClients(db, actor)
    .where(sql<boolean>`c.id = any(${ids})`)
    .orderBy('c.id')
    .execute()
}

export async function listOAuthClients(db: Db, actor: Actor, input: { organizationId: string; page: Page }) {
  const isOwn = sql<boolean>`c.organization_id = ${input.organizationId}`
  const list = selectClients(db, actor).where(isOwn).orderBy('c.created_at').orderBy('c.id')
  return readPaged(input.page, list, db.selectFrom('oauth_clients as c').where(isOwn))
}

/** Number of names of a connection's workspaces in its resource. */
const MAX_NAMES = 25

export type AffectedWorkspaces = { client_id: string; names: string[]; count: number; last_delivery_at: Date | null }

/** The workspaces that use connections: names that the actor may see, the number of all, and the last delivery. */
export async function listAffectedWorkspaces(db: Db, actor: Actor, clientIds: readonly string[]) {
  const { rows } = await sql<AffectedWorkspaces>`
    select t.oauth_client_id as client_id, count(*) as count,
           coalesce((array_agg(w.name order by w.name) filter (where ${visibleWorkspace(actor)}))[:${sql.lit(MAX_NAMES)}], '{}') as names,
           (select max(d.received_at) from vcs_deliveries d join repositories x on x.id = d.repository_id
              join oauth_tokens y on y.id = x.oauth_token_id where y.oauth_client_id = t.oauth_client_id) as last_delivery_at
      from oauth_tokens t
      join repositories r on r.oauth_token_id = t.id
      join workspaces w on w.repository_id = r.id
     where t.oauth_client_id = any(${clientIds})
     group by t.oauth_client_id`.execute(db)
  return rows
}

export async function insertOAuthClient(db: Db, row: Insertable<Schema['oauth_clients']>) {
  await db.insertInto('oauth_clients').values(row).execute()
}

export async function updateOAuthClient(db: Db, id: string, changes: Updateable<Schema['oauth_clients']>) {
  await db.updateTable('oauth_clients').set(changes).where('id', '=', id).execute()
}

export async function deleteOAuthClient(db: Db, id: string) {
  await db.deleteFrom('oauth_clients').where('id', '=', id).execute()
}

/** Replaces the projects. Keeps those that the actor may not see. */
export async function replaceProjects(tx: Tx, actor: Actor, clientId: string, ids: readonly string[]) {
  await sql`delete from oauth_client_projects s using projects p
    where s.oauth_client_id = ${clientId} and p.id = s.project_id and ${visibleProject(actor)}`.execute(tx)
  await addProjects(tx, clientId, ids)
}

export async function addProjects(tx: Tx, clientId: string, ids: readonly string[]) {
  await sql`insert into oauth_client_projects (oauth_client_id, project_id)
            select ${clientId}, id from unnest(${ids}::text[]) id on conflict do nothing`.execute(tx)
}

export async function removeProjects(tx: Tx, clientId: string, ids: readonly string[]) {
  await sql`delete from oauth_client_projects
             where oauth_client_id = ${clientId} and project_id = any(${ids})`.execute(tx)
}

export type OAuthTokenRow = Pick<
  Selectable<Schema['oauth_tokens']>,
  'id' | 'oauth_client_id' | 'service_provider_user' | 'created_at'
> & { has_ssh_key: boolean; organization_id: string }

function selectTokens(db: Db) {
  return db
    .selectFrom('oauth_tokens as t')
    .innerJoin('oauth_clients as c', 'c.id', 't.oauth_client_id')
    .select(['t.id', 't.oauth_client_id', 't.service_provider_user', 't.created_at', 'c.organization_id'])
    .select(sql<boolean>`t.ssh_key is not null`.as('has_ssh_key'))
}

export async function findOAuthToken(db: Db, id: string): Promise<OAuthTokenRow | undefined> {
  return selectTokens(db).where('t.id', '=', id).executeTakeFirst()
}

/** The user that a connection's token was created for, where its host needs one. */
export async function findTokenUsername(db: Db, clientId: string): Promise<string | null | undefined> {
  const tokens = db.selectFrom('oauth_tokens').select('username').where('oauth_client_id', '=', clientId)
  return (await tokens.orderBy('created_at').limit(1).executeTakeFirst())?.username
}

/** Tokens of connections, for includes. */
export async function findOAuthTokens(db: Db, ids: readonly string[]): Promise<OAuthTokenRow[]> {
  return selectTokens(db)
    .where(sql<boolean>`t.id = any(${ids})`)
    .orderBy('t.id')
    .execute()
}

type TokensOf = { organizationId: string; provider?: string | undefined } | { clientId: string }

export async function listOAuthTokens(db: Db, of: TokensOf, page: Page) {
  const isOwn =
    'clientId' in of
      ? sql<boolean>`t.oauth_client_id = ${of.clientId}`
      : sql<boolean>`c.organization_id = ${of.organizationId}
          and (${of.provider ?? null}::text is null or c.service_provider = ${of.provider ?? null})`
  const list = selectTokens(db).where(isOwn).orderBy('t.created_at').orderBy('t.id')
  const all = db.selectFrom('oauth_tokens as t').innerJoin('oauth_clients as c', 'c.id', 't.oauth_client_id')
  return readPaged(page, list, all.where(isOwn))
}

export async function insertOAuthToken(db: Db, row: Insertable<Schema['oauth_tokens']>) {
  await db.insertInto('oauth_tokens').values(row).execute()
}

export async function updateOAuthToken(db: Db, id: string, changes: Updateable<Schema['oauth_tokens']>) {
  await db.updateTable('oauth_tokens').set(changes).where('id', '=', id).execute()
}

export async function listTokenIds(db: Db, clientId: string) {
  const rows = await db.selectFrom('oauth_tokens').select('id').where('oauth_client_id', '=', clientId).execute()
  return rows.map(({ id }) => id)
}

export async function deleteOAuthToken(db: Db, id: string) {
  await db.deleteFrom('oauth_tokens').where('id', '=', id).execute()
}

const HOST = [
  'c.organization_id',
  'c.service_provider',
  'c.http_url',
  'c.api_url',
  'c.agent_pool_id',
  'c.uuid',
  'c.key',
  'c.secret',
] as const

/** The host of a connection, and its OAuth application; the secret is sealed. */
export async function findOAuthApplication(db: Db, uuid: string) {
  return db
    .selectFrom('oauth_clients as c')
    .leftJoin('agent_pools as p', 'p.id', 'c.agent_pool_id')
    .select([...HOST, 'c.id', 'p.name as agent_pool_name'])
    .where('c.uuid', '=', uuid)
    .executeTakeFirst()
}

/** Everything that a request to the host needs; sealed. */
export type ConnectionRow = NonNullable<Awaited<ReturnType<typeof findConnection>>>

export async function findConnection(db: Db, tokenId: string) {
  return db
    .selectFrom('oauth_tokens as t')
    .innerJoin('oauth_clients as c', 'c.id', 't.oauth_client_id')
    .innerJoin('organizations as o', 'o.id', 'c.organization_id')
    .leftJoin('agent_pools as p', 'p.id', 'c.agent_pool_id')
    .select(['o.name as organization_name', 'p.name as agent_pool_name'])
    .select(['t.id', 't.token', 't.username', 't.ssh_key', 't.failed_at', 't.failure', 't.oauth_client_id'])
    .select('t.unreachable_since')
    .select(['t.refresh_token', 't.expires_at'])
    .select([...HOST, 'c.blocked_until'])
    .where('t.id', '=', tokenId)
    .executeTakeFirst()
}

type RefreshLease = { now: Date; until: Date }

/** Reserves the refresh of a token for this process; undefined while another one refreshes it. */
export async function leaseRefresh(db: Db, tokenId: string, { now, until }: RefreshLease) {
  return db
    .updateTable('oauth_tokens')
    .set({ refreshing_until: until })
    .where('id', '=', tokenId)
    .where(({ or, eb }) => or([eb('refreshing_until', 'is', null), eb('refreshing_until', '<=', now)]))
    .returning(['token', 'refresh_token', 'expires_at', 'refreshing_until'])
    .executeTakeFirst()
}

/** Ends the refresh, with the new token if there is one. A token that was replaced in the meantime stays: its lease has been removed. */
export async function endRefresh(
  db: Db,
  { id, until }: { id: string; until: Date | null },
  columns: Updateable<Schema['oauth_tokens']> = {},
) {
  await db
    .updateTable('oauth_tokens')
    .set({ ...columns, refreshing_until: null })
    .where('id', '=', id)
    .where('refreshing_until', '=', until)
    .execute()
}

/** Whether workspaces of one of the projects may use the token. */
export async function isTokenOpenTo(db: Db, tokenId: string, projectIds: readonly string[]) {
  const { rows } = await sql`
    select from oauth_tokens t join oauth_clients c on c.id = t.oauth_client_id
     where t.id = ${tokenId} and (c.organization_scoped or exists (
       select from oauth_client_projects s where s.oauth_client_id = c.id and s.project_id = any(${projectIds})))`.execute(
    db,
  )
  return rows.length > 0
}

/** Stores an authorization that a person has started, and removes those that have expired. */
export async function insertAuthorization(db: Db, now: Date, row: Insertable<Schema['vcs_authorizations']>) {
  await db.deleteFrom('vcs_authorizations').where('expires_at', '<=', now).execute()
  await db.insertInto('vcs_authorizations').values(row).execute()
}

/** Takes an authorization, which is used once. */
export async function takeAuthorization(db: Db, hash: Buffer) {
  return db.deleteFrom('vcs_authorizations').where('hash', '=', hash).returningAll().executeTakeFirst()
}
