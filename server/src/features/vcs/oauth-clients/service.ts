import { randomUUID } from 'node:crypto'
import type { CreateOAuthClient, UpdateOAuthClient } from '@groundstate/contract/oauth-clients'
import type { Updateable } from 'kysely'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, audited, recordAudit } from '../../../audit/record.ts'
import { type Page, transact } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { AppError, invalid } from '../../../errors.ts'
import { domainEvent, raise } from '../../../events.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import type { Host, OAuthGrant } from '../../../vcs-hosts/host.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { requireOrganization, requireOrganizationPool } from '../../organizations/organizations/access.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { type OAuthClient, requireOAuthClient, requireOAuthToken } from './access.ts'
import * as store from './store.ts'

const HTTP_URL_POINTER = '/data/attributes/http-url'
const POOL_POINTER = '/data/relationships/agent-pool'

type Attributes = CreateOAuthClient['attributes']
type Changes = UpdateOAuthClient['attributes']
type Credentials = Pick<Changes, 'oauth-token-string' | 'oauth-token-username' | 'private-key'>

/**
 * Creates a connection. With an access token or a private key it is complete, and a background job asks the host whether it accepts them;
 * with an OAuth key and secret, a person completes it in a browser. A git server may be read without credentials.
 */
export async function createOAuthClient(ctx: Ctx, organization: { id: string }, input: CreateOAuthClient) {
  const { attributes, relationships } = input
  const host = hostOf(attributes['service-provider'])
  const poolId = relationships['agent-pool']?.data?.id
  if (poolId !== undefined) await requirePool(ctx, organization.id, poolId)
  const addresses = addressesOf(ctx, host, { attributes, isDirect: poolId === undefined })
  const isAnonymous = host.api === null && !hasCredentials(attributes)
  if (addresses.http_url.startsWith('ssh:') && !attributes['private-key'])
    throw invalid("private-key can't be blank: git reads an ssh URL with a key", '/data/attributes/private-key')
  if (!isAnonymous) checkCredentials(host, attributes)
  const id = ctx.newId('oc')
  const now = ctx.now()
  return transact(ctx, async (ctx) => {
    await store.insertOAuthClient(ctx.db, {
      id,
      organization_id: organization.id,
      uuid: randomUUID(),
      service_provider: attributes['service-provider'],
      ...addresses,
      ...columnsOf(ctx, id, attributes),
      agent_pool_id: poolId ?? null,
      created_at: now,
      updated_at: now,
    })
    const key = { id, organization_id: organization.id, name: attributes.name ?? null }
    await changeProjects(ctx, key, relationships.projects?.data)
    if (isAnonymous || hasCredentials(attributes)) await putCredentials(ctx, id, attributes)
    await recordAudit(ctx, clientAudit(key, 'create', { provider: attributes['service-provider'] }))
    return requireOAuthClient(ctx, id, 'vcs-settings:read')
  })
}

export async function listOAuthClients(ctx: Ctx, organizationName: string, page: Page) {
  const { id } = await requireOrganization(ctx, organizationName, 'vcs-settings:read')
  return store.listOAuthClients(ctx.db, ctx.actor, { organizationId: id, page })
}

/** The workspaces that use connections, by the id of the connection. */
export async function readAffectedWorkspaces(ctx: Ctx, clients: readonly { id: string }[]) {
  const ids = clients.map((client) => client.id)
  const rows = await store.listAffectedWorkspaces(ctx.db, ctx.actor, ids)
  const byId = new Map(rows.map((row) => [row.client_id, row]))
  return new Map(ids.map((id) => [id, byId.get(id) ?? { client_id: id, names: [], count: 0, last_delivery_at: null }]))
}

/**
 * Changes a connection. A new token replaces the old one under its id, to which workspaces refer, and is checked again. It is of the same
 * user unless the request names another.
 */
export async function updateOAuthClient(
  ctx: Ctx,
  client: OAuthClient,
  { attributes, relationships }: UpdateOAuthClient,
) {
  checkHostUnchanged(client, attributes)
  const host = hostOf(client.service_provider)
  const pool = relationships['agent-pool']
  if (pool?.data) await requirePool(ctx, client.organization_id, pool.data.id)
  const username = attributes['oauth-token-username'] || (await store.findTokenUsername(ctx.db, client.id))
  const credentials = { ...attributes, 'oauth-token-username': username }
  if (hasCredentials(attributes)) checkCredentials(host, credentials)
  if (attributes.key === '' && client.key)
    throw invalid("key can't be blank: it is the id of the application or consumer", '/data/attributes/key')
  const columns = {
    ...columnsOf(ctx, client.id, attributes),
    ...(pool && { agent_pool_id: pool.data?.id ?? null }),
    updated_at: ctx.now(),
  }
  return transact(ctx, async (ctx) => {
    await store.updateOAuthClient(ctx.db, client.id, columns)
    await changeProjects(ctx, client, relationships.projects?.data)
    if (hasCredentials(attributes)) await putCredentials(ctx, client.id, credentials)
    const meta = { name: client.name, changes: Object.keys({ ...attributes, ...relationships }) }
    await recordAudit(ctx, { ...clientAudit(client, 'update', meta), settings: { before: client, columns } })
    return requireOAuthClient(ctx, client.id, 'vcs-settings:read')
  })
}

function checkHostUnchanged(client: OAuthClient, attributes: Changes) {
  const current = {
    'service-provider': client.service_provider,
    'http-url': client.http_url,
    'api-url': client.api_url,
  } as const
  for (const name of ['service-provider', 'http-url', 'api-url'] as const) {
    // Clients send an empty text instead of nothing.
    if (attributes[name] && attributes[name] !== current[name])
      throw invalid(`${name} cannot be changed: create another connection`, `/data/attributes/${name}`)
  }
}

/** Workspaces keep their configuration and lose the repository, as in the public API. */
export async function deleteOAuthClient(ctx: Ctx, id: string) {
  const client = await requireOAuthClient(ctx, id, 'vcs-settings:manage')
  await audited(ctx, clientAudit(client, 'destroy'), async (ctx) => {
    await raise(ctx, tokensDeleting, { tokenIds: client.token_ids })
    await store.deleteOAuthClient(ctx.db, id)
  })
}

type Identifiers = readonly { id: string }[]

export async function changeClientProjects(
  ctx: Ctx,
  id: string,
  { change, projects }: { change: 'add' | 'remove'; projects: Identifiers },
) {
  const client = await requireOAuthClient(ctx, id, 'vcs-settings:manage')
  const ids = await requireProjects(ctx, client.organization_id, { projects, pointer: '/data' })
  await audited(ctx, clientAudit(client, `${change}_projects`, { projects: ids }), async (ctx) =>
    change === 'add' ? store.addProjects(ctx.db, id, ids) : store.removeProjects(ctx.db, id, ids),
  )
}

async function changeProjects(
  ctx: TransactionCtx,
  client: { id: string; organization_id: string },
  projects: Identifiers | undefined,
) {
  if (!projects) return
  const pointer = '/data/relationships/projects/data'
  const ids = await requireProjects(ctx, client.organization_id, { projects, pointer })
  await store.replaceProjects(ctx.db, ctx.actor, client.id, ids)
}

async function requireProjects(
  ctx: Ctx,
  organizationId: string,
  { projects, pointer }: { projects: Identifiers; pointer: string },
) {
  const ids = projects.map((project) => project.id)
  const readable = await listReadableProjects(ctx, ids)
  const own = new Set(readable.flatMap((project) => (project.organization_id === organizationId ? project.id : [])))
  const missing = ids.findIndex((id) => !own.has(id))
  if (missing >= 0) throw invalid(`the organization has no project ${ids[missing]}`, `${pointer}/${missing}/id`)
  return ids
}

async function requirePool(ctx: Ctx, organizationId: string, poolId: string) {
  await requireOrganizationPool(ctx, organizationId, poolId, POOL_POINTER).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.kind !== 'invalid') throw error
    // Clients match this text, which the public API has in lower case here.
    const text = 'the provided agent pool does not exist or you are not authorized to use it'
    throw invalid(`${text}: ${poolId} is not a pool of the organization`, POOL_POINTER)
  })
}

type Addressed = { attributes: Attributes; isDirect: boolean }

/** The host's addresses. Through an agent, addresses of its network are allowed. */
function addressesOf(ctx: Ctx, host: Host, { attributes, isDirect }: Addressed) {
  const { 'http-url': httpUrl, 'api-url': apiUrl } = attributes
  if (httpUrl?.startsWith('ssh:') && !host.capabilities.connectsBy.includes('ssh-key'))
    throw invalid(`http-url must be an http or https URL: ${host.name} is not used through ssh`, HTTP_URL_POINTER)
  const derived = host.addresses(httpUrl ?? undefined)
  if (!derived) throw invalid(`http-url can't be blank: it is the address of ${host.name}`, HTTP_URL_POINTER)
  const addresses = { http_url: derived.httpUrl, api_url: apiUrl ?? derived.apiUrl }
  for (const [name, url] of [
    ['http-url', addresses.http_url],
    ['api-url', addresses.api_url],
  ] as const) {
    // The rules for addresses apply to ssh, too, but it has its own port and user.
    const checked = url.startsWith('ssh:') ? `https://${new URL(url).hostname}` : url
    const problem = isDirect ? ctx.outbound.problem(checked) : undefined
    if (problem !== undefined) throw invalid(`${name} ${url}: ${problem}`, `/data/attributes/${name}`)
  }
  return addresses
}

function hasCredentials(attributes: Credentials) {
  return Boolean(attributes['oauth-token-string'] ?? attributes['private-key'])
}

/** Throws `invalid` for credentials that the host cannot use, and for none at all. */
function checkCredentials(
  { name, capabilities, api }: Host,
  attributes: Credentials & Pick<Changes, 'key' | 'secret'>,
) {
  const at = (attribute: string) => `/data/attributes/${attribute}`
  const ways = capabilities.connectsBy
  if (attributes['private-key'] && !attributes['oauth-token-string'] && !ways.includes('ssh-key'))
    throw invalid(
      `oauth-token-string can't be blank: the API of ${name} needs an access token, the private key is for git`,
      at('oauth-token-string'),
    )
  if (attributes['oauth-token-string'] && capabilities.needsUsername && !attributes['oauth-token-username'])
    throw invalid(
      `oauth-token-username can't be blank: ${name} needs the user of the token`,
      at('oauth-token-username'),
    )
  if (hasCredentials(attributes)) return
  // The connection is pending until it gets an access token: the public API has key pairs for such hosts.
  if (!ways.includes('oauth') && api) return
  if (!ways.includes('oauth'))
    throw invalid(`oauth-token-string can't be blank: it is the password for ${name}`, at('oauth-token-string'))
  for (const attribute of ['key', 'secret'] as const) {
    if (!attributes[attribute]) throw invalid(`${attribute} can't be blank without an access token`, at(attribute))
  }
}

function columnsOf(ctx: Ctx, id: string, attributes: Changes) {
  const { key, secret } = attributes
  const scoped = attributes['organization-scoped']
  const forks = attributes['fork-plans-enabled']
  const polling = attributes['polling-enabled']
  return {
    ...(attributes.name !== undefined && { name: attributes.name || null }),
    ...(key !== undefined && { key }),
    ...(secret !== undefined && { secret: secret === null ? null : ctx.secrets.seal(secret, secretContext(id)) }),
    ...(attributes['rsa-public-key'] !== undefined && { rsa_public_key: attributes['rsa-public-key'] }),
    ...(attributes['ado-entra-tenant-id'] !== undefined && { ado_entra_tenant_id: attributes['ado-entra-tenant-id'] }),
    ...(typeof scoped === 'boolean' && { organization_scoped: scoped }),
    ...(typeof forks === 'boolean' && { fork_plans_enabled: forks }),
    ...(typeof polling === 'boolean' && { polling_enabled: polling }),
  }
}

async function putCredentials(ctx: TransactionCtx, clientId: string, attributes: Credentials) {
  const { 'oauth-token-string': text, 'oauth-token-username': username, 'private-key': privateKey } = attributes
  await putToken(ctx, clientId, (id) => ({
    ...(text && {
      token: ctx.secrets.seal(text, tokenContext(id, 'token')),
      username: username ?? null,
      refresh_token: null,
      expires_at: null,
    }),
    ...(privateKey && { ssh_key: ctx.secrets.seal(privateKey, tokenContext(id, 'ssh-key')) }),
  }))
}

/** Stores credentials in the connection's token, or in a new one, and has them checked. */
async function putToken(
  ctx: TransactionCtx,
  clientId: string,
  columnsOf: (tokenId: string) => Updateable<Schema['oauth_tokens']>,
) {
  const tokens = await store.listTokenIds(ctx.db, clientId)
  const isNew = tokens.length === 0
  for (const id of isNew ? [ctx.newId('ot')] : tokens) {
    const columns = {
      ...columnsOf(id),
      failed_at: null,
      failure: null,
      unreachable_since: null,
      unreachable: null,
      refreshing_until: null,
    }
    if (isNew)
      await store.insertOAuthToken(ctx.db, { id, oauth_client_id: clientId, created_at: ctx.now(), ...columns })
    else await store.updateOAuthToken(ctx.db, id, columns)
    await raise(ctx, credentialsChanged, { tokenId: id })
  }
}

/** Stores the token that the host has issued to a person who has authorized the connection. */
export async function authorizeOAuthClient(ctx: Ctx, client: OAuthClient, grant: OAuthGrant) {
  await audited(ctx, clientAudit(client, 'authorize'), async (ctx) =>
    putToken(ctx, client.id, (id) => ({ ...grantColumns(ctx, id, grant), username: null })),
  )
}

/** The columns of a token for what the host has issued. */
export function grantColumns(ctx: Ctx, tokenId: string, { token, refreshToken, expiresInMs }: OAuthGrant) {
  return {
    token: ctx.secrets.seal(token, tokenContext(tokenId, 'token')),
    refresh_token:
      refreshToken === null ? null : ctx.secrets.seal(refreshToken, tokenContext(tokenId, 'refresh-token')),
    expires_at: expiresInMs === null ? null : new Date(ctx.now().getTime() + expiresInMs),
  }
}

/** The context in which the secret of a connection's OAuth application is sealed. */
export function secretContext(clientId: string) {
  return sealedClientSecret.context({ id: clientId })
}

export const sealedClientSecret = sealedColumn('oauth_clients.secret', ['id'], ({ id }) => `oauth-clients/${id}/secret`)

/** The context in which a secret of a token is sealed. */
export function tokenContext(id: string, secret: keyof typeof sealedTokenColumns) {
  return sealedTokenColumns[secret].context({ id })
}

export const sealedTokenColumns = {
  token: sealedColumn('oauth_tokens.token', ['id'], ({ id }) => `oauth-tokens/${id}/token`),
  'refresh-token': sealedColumn('oauth_tokens.refresh_token', ['id'], ({ id }) => `oauth-tokens/${id}/refresh-token`),
  'ssh-key': sealedColumn('oauth_tokens.ssh_key', ['id'], ({ id }) => `oauth-tokens/${id}/ssh-key`),
}

type TokensOf = { organizationName: string; provider: string | undefined } | { clientId: string }

export async function listOAuthTokens(ctx: Ctx, of: TokensOf, page: Page) {
  if ('clientId' in of) {
    const client = await requireOAuthClient(ctx, of.clientId, 'vcs-settings:read')
    return store.listOAuthTokens(ctx.db, { clientId: client.id }, page)
  }
  const { id } = await requireOrganization(ctx, of.organizationName, 'vcs-settings:read')
  return store.listOAuthTokens(ctx.db, { organizationId: id, provider: of.provider }, page)
}

/** Sets or removes the key with which submodules and modules are cloned through the connection. */
export async function updateOAuthToken(ctx: Ctx, token: store.OAuthTokenRow, sshKey: string | null | undefined) {
  if (sshKey === undefined) return token
  const value = sshKey === null ? null : ctx.secrets.seal(sshKey, tokenContext(token.id, 'ssh-key'))
  return audited(ctx, tokenAudit(token, 'update', { changes: ['ssh-key'] }), async (ctx) => {
    await store.updateOAuthToken(ctx.db, token.id, { ssh_key: value })
    return requireOAuthToken(ctx, token.id, 'vcs-settings:read')
  })
}

export async function deleteOAuthToken(ctx: Ctx, id: string) {
  const token = await requireOAuthToken(ctx, id, 'vcs-settings:manage')
  await audited(ctx, tokenAudit(token, 'destroy'), async (ctx) => {
    await raise(ctx, tokensDeleting, { tokenIds: [id] })
    await store.deleteOAuthToken(ctx.db, id)
  })
}

type AuditedClient = Pick<OAuthClient, 'id' | 'organization_id' | 'name'>

function clientAudit(client: AuditedClient, action: string, meta: AuditEvent['meta'] = {}): AuditEvent {
  const { id, organization_id: organizationId, name } = client
  const notices = [{ type: 'oauth-clients' as const, id }]
  return { organizationId, action, resource: { type: 'oauth_client', id }, meta: { name, ...meta }, notices }
}

function tokenAudit(token: store.OAuthTokenRow, action: string, meta: AuditEvent['meta'] = {}): AuditEvent {
  const notices = [{ type: 'oauth-clients' as const, id: token.oauth_client_id }]
  const resource = { type: 'oauth_token', id: token.id }
  return { organizationId: token.organization_id, action, resource, meta, notices }
}

/** Raised in the transaction that stores a token or a key, to have it checked. */
export const credentialsChanged = domainEvent<{ tokenId: string }>('oauth-client.credentials-changed')

/** Raised before tokens are deleted, in the same transaction: their repositories have webhooks on the host. */
export const tokensDeleting = domainEvent<{ tokenIds: readonly string[] }>('oauth-token.deleting')
