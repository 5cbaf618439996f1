import type { ActivateIdentityKey } from '@groundstate/contract/identity-keys'
import { type App, type Ctx } from '../../../app.ts'
import { recordSiteAudit } from '../../../audit/record.ts'
import { SYSTEM, checkSiteAdmin } from '../../../auth/actor.ts'
import type { Config } from '../../../config.ts'
import { type Tx, transact } from '../../../db/db.ts'
import { conflict, notFound } from '../../../errors.ts'
import { isExternalIssuer, issuerOf } from './issuer.ts'
import { CACHE_MS, cachedUntil, type IdentityKey, identityKeys, LEAD_MS } from './key-states.ts'
import { publicationProblem } from './published.ts'
import { CACHED_MS, newKey, openKey, UnreadableKeyError } from './signing.ts'
import * as store from './store.ts'

/** Commands have it without a server. */
export type KeyCtx = Pick<Ctx, 'db' | 'config' | 'secrets' | 'now' | 'newId' | 'actor' | 'request'>
type KeyTransaction = KeyCtx & { db: Tx }

/**
 * Creates the first key, once for concurrent servers; it signs at once, since there is no other. Keys then stay published for as long as a token
 * of this server's longest phase is valid. Records the issuer for commands. With an external issuer a scheduled key waits for its activation.
 */
export async function ensureIdentityKey(app: App) {
  const ctx = { ...app, actor: SYSTEM }
  const { planTimeout, applyTimeout } = app.config
  const lifetimeMs = Math.max(planTimeout, applyTimeout)
  const first = (await store.listIdentityKeys(ctx.db)).length === 0 ? await newKey(ctx) : undefined
  await transact(ctx, async (ctx) => {
    await store.lockIdentityKeys(ctx.db)
    if (first && (await store.listIdentityKeys(ctx.db)).length === 0) {
      await insertKey(ctx, 'create', { ...first, activates_at: ctx.now(), token_lifetime_ms: lifetimeMs })
    }
    await deleteExpired(ctx)
    if (isExternalIssuer(app.config)) await unscheduleNext(ctx, issuerOf(app))
    await store.raiseTokenLifetime(ctx.db, lifetimeMs)
    await store.upsertIssuer(ctx.db, { url: issuerOf(app), is_external: isExternalIssuer(app.config) })
  })
}

/** Nobody may have uploaded the documents with the key by the time for which it was scheduled. */
async function unscheduleNext(ctx: KeyTransaction & Pick<App, 'log'>, issuer: string) {
  const next = (await listPublishedKeys(ctx)).find(({ state }) => state === 'next')
  if (!next || next.row.activates_at === null) return
  await store.updateActivation(ctx.db, next.row.id, null)
  await recordSiteAudit(ctx, keyEvent('update', next.row, { issuer }))
  ctx.log.warn(
    `the documents of the issuer ${issuer} are exported: the key ${next.row.key_id} now waits for \`groundstate identity activate\`, after their upload`,
  )
}

/** The settings with the issuer of the server, for commands that do not have them. */
export async function withIssuer(db: Ctx['db'], config: Config): Promise<Config> {
  const issuer = await store.findIssuer(db)
  if (!issuer || config.issuerUrl !== undefined) return config
  return issuer.is_external ? { ...config, issuerUrl: issuer.url } : { ...config, baseUrl: issuer.url }
}

export async function listPublishedKeys({ db, now }: Pick<Ctx, 'db' | 'now'>) {
  return identityKeys(await store.listIdentityKeys(db), now()).published
}

export async function listSiteKeys(ctx: Ctx) {
  checkSiteAdmin(ctx)
  return listPublishedKeys(ctx)
}

/**
 * Publishes a new key. It signs after a day, or after its activation where services read copies of the documents. It signs at once if the current
 * one cannot be decrypted. Throws `conflict` if there already is a key that does not sign yet.
 */
export async function rotateIdentityKeys(ctx: KeyCtx): Promise<IdentityKey> {
  checkSiteAdmin(ctx)
  const made = await newKey(ctx)
  return transact(ctx, async (ctx) => {
    await store.lockIdentityKeys(ctx.db)
    await deleteExpired(ctx)
    const keys = await listPublishedKeys(ctx)
    const next = keys.find(({ state }) => state === 'next')
    if (next) throw conflict(`the key ${next.row.key_id} is already published and ${whenItSigns(next)}`)
    const current = keys.find(({ state }) => state === 'current')
    await insertKey(ctx, 'rotate', {
      ...made,
      activates_at: activation(ctx, current),
      token_lifetime_ms: current?.row.token_lifetime_ms ?? Math.max(ctx.config.planTimeout, ctx.config.applyTimeout),
    })
    return requireKey(ctx, made.id)
  })
}

function whenItSigns({ row: { activates_at: at } }: IdentityKey) {
  return at === null ? 'waits for its activation: activate it first' : `signs from ${at.toISOString()}`
}

function activation(ctx: KeyCtx, current: IdentityKey | undefined) {
  if (!current || !isReadable(ctx, current)) return ctx.now()
  return isExternalIssuer(ctx.config) ? null : new Date(ctx.now().getTime() + LEAD_MS)
}

function isReadable(ctx: KeyCtx, { row }: IdentityKey) {
  try {
    openKey(ctx, row)
    return true
  } catch (error) {
    if (error instanceof UnreadableKeyError) return false
    throw error
  }
}

/** As `activateIdentityKey`. Without `force`, throws `conflict` unless the address of another issuer has the key. */
export async function activateSiteKey(ctx: Ctx, id: string, { force }: ActivateIdentityKey): Promise<IdentityKey> {
  const key = (await listSiteKeys(ctx)).find(({ row }) => row.id === id)
  const problem = key?.state === 'next' && !force ? await publicationProblem(ctx.config, key.row.key_id) : undefined
  if (problem !== undefined) {
    throw conflict(`${problem}: upload the documents first, or set force to true to activate it without this check`)
  }
  return activateIdentityKey(ctx, { id, force })
}

/** `force` says that the address of another issuer was not checked. */
type Activation = ActivateIdentityKey & { id?: string }

/**
 * Makes the next key sign now; without an id, the one that there is. Throws `conflict` if it already signs, or if services may still have a copy
 * of this server's keys without it.
 */
export async function activateIdentityKey(ctx: KeyCtx, { id, force }: Activation): Promise<IdentityKey> {
  checkSiteAdmin(ctx)
  return transact(ctx, async (ctx) => {
    await store.lockIdentityKeys(ctx.db)
    const key = id === undefined ? await requireNext(ctx) : await requireKey(ctx, id)
    const { row, state } = key
    if (state !== 'next') throw conflict(`the key ${row.key_id} is ${state}: only the next key can be activated`)
    if (!isActivatable(ctx, key)) {
      const since = row.created_at.toISOString()
      throw conflict(
        `the key ${row.key_id} is published since ${since}, and services may cache the published keys for ${CACHE_MS / 60_000} minutes: activate it from ${cachedUntil(row).toISOString()}`,
      )
    }
    await store.updateActivation(ctx.db, row.id, ctx.now())
    await recordSiteAudit(ctx, keyEvent('activate', row, { ...(force && isExternalIssuer(ctx.config) && { force }) }))
    return requireKey(ctx, row.id)
  })
}

/** Time after which no server signs with a former key, in ms: they cache it, and an activation takes the time of its transaction to be seen. */
const LAST_SIGNATURE_MS = 2 * CACHED_MS

/**
 * Removes a key that no longer signs from the published ones, although its tokens are still valid. Throws `conflict` for another key, and while a
 * server may still sign with it.
 */
export async function withdrawIdentityKey(ctx: KeyCtx, keyId: string) {
  checkSiteAdmin(ctx)
  await transact(ctx, async (ctx) => {
    await store.lockIdentityKeys(ctx.db)
    const key = (await listPublishedKeys(ctx)).find(({ row }) => row.key_id === keyId)
    if (!key) throw conflict(`there is no identity key ${keyId}: groundstate identity keys lists them`)
    if (key.state !== 'previous')
      throw conflict(`the key ${keyId} is ${key.state}: only a previous key can be withdrawn`)
    const signsUntil = new Date((key.retiresAt?.getTime() ?? 0) + LAST_SIGNATURE_MS)
    if (ctx.now() < signsUntil)
      throw conflict(
        `servers may sign with the key ${keyId} until ${signsUntil.toISOString()}: withdraw it from then on`,
      )
    await store.deleteIdentityKeys(ctx.db, [key.row.id])
    await recordSiteAudit(ctx, keyEvent('destroy', key.row))
  })
}

/** Whether the key may sign now. Where services read copies of the documents, only the operator knows when they have it. */
export function isActivatable({ config, now }: Pick<KeyCtx, 'config' | 'now'>, { row, state }: IdentityKey) {
  return state === 'next' && (isExternalIssuer(config) || now() >= cachedUntil(row))
}

async function requireKey(ctx: KeyTransaction, id: string) {
  const key = (await listPublishedKeys(ctx)).find(({ row }) => row.id === id)
  if (!key) throw notFound('identity key')
  return key
}

async function requireNext(ctx: KeyTransaction) {
  const next = (await listPublishedKeys(ctx)).find(({ state }) => state === 'next')
  if (!next) throw conflict('there is no key to activate: rotate the keys first')
  return next
}

async function insertKey(ctx: KeyTransaction, action: 'create' | 'rotate', row: store.KeyRow) {
  await store.insertIdentityKey(ctx.db, row)
  await recordSiteAudit(ctx, keyEvent(action, row))
}

function keyEvent(
  action: string,
  { id, key_id: keyId }: store.KeyRow,
  meta: { force?: boolean; issuer?: string } = {},
) {
  return { action, resource: { type: 'identity_key', id }, meta: { key_id: keyId, ...meta } }
}

async function deleteExpired({ db, now }: KeyTransaction) {
  const { expired } = identityKeys(await store.listIdentityKeys(db), now())
  if (expired.length === 0) return
  await store.deleteIdentityKeys(
    db,
    expired.map(({ row }) => row.id),
  )
}
