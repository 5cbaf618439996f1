import * as contract from '@groundstate/contract/identity-keys'
import { documentOf } from '@groundstate/contract/responses'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { paginationMeta } from '../../../http/pagination.ts'
import { created, json, ok } from '../../../http/responses.ts'
import { CONFIGURATION_PATH, isExternalIssuer, issuerOf, jwks, KEYS_PATH, openidConfiguration } from './issuer.ts'
import { CACHE_MS, type IdentityKey } from './key-states.ts'
import { identityKeyResource } from './resource.ts'
import { activateSiteKey, isActivatable, listPublishedKeys, listSiteKeys, rotateIdentityKeys } from './service.ts'

const PUBLIC = { access: 'public', prefix: '' } as const
const ADMIN = { access: 'site-admin' } as const
const KEYS = '/admin/identity-keys'

/** Verifiers in browsers read them too. */
const PUBLISHED = {
  'cache-control': `public, max-age=${CACHE_MS / 1000}`,
  'access-control-allow-origin': '*',
}

export const identityKeyRoutes: Routes = (http) => {
  http.get(
    CONFIGURATION_PATH,
    { ...PUBLIC, summary: 'Discover the issuer of identity tokens', responses: { 200: contract.openidConfiguration } },
    async ({ ctx }) => ({ ...json(openidConfiguration(issuerOf(ctx))), headers: PUBLISHED }),
  )
  http.get(
    KEYS_PATH,
    { ...PUBLIC, summary: 'Show the keys that verify identity tokens', responses: { 200: contract.publishedKeys } },
    async ({ ctx }) => ({ ...json(jwks(await listPublishedKeys(ctx))), headers: PUBLISHED }),
  )
  http.get(
    KEYS,
    { ...ADMIN, summary: 'List the keys that sign identity tokens', responses: { 200: contract.identityKeysDocument } },
    async ({ ctx }) => {
      const keys = await listSiteKeys(ctx)
      const issuer = {
        url: issuerOf(ctx),
        'is-external': isExternalIssuer(ctx.config),
        'can-rotate': keys.every(({ state }) => state !== 'next'),
      }
      const pagination = paginationMeta({ number: 1, size: Math.max(1, keys.length) }, keys.length)
      return { status: 200, document: { data: keys.map((key) => resourceOf(ctx, key)), meta: { pagination, issuer } } }
    },
  )
  http.post(
    `${KEYS}/actions/rotate`,
    {
      ...ADMIN,
      summary: 'Publish a new key for identity tokens',
      audit: 'identity_key rotate',
      responses: { 201: documentOf(contract.identityKeySchema) },
    },
    async ({ ctx }) => created(resourceOf(ctx, await rotateIdentityKeys(ctx))),
  )
  http.post(
    `${KEYS}/:keyId/actions/activate`,
    {
      ...ADMIN,
      summary: 'Make the next key sign identity tokens now',
      audit: 'identity_key activate',
      body: contract.activateIdentityKeyBody,
      responses: { 200: documentOf(contract.identityKeySchema) },
    },
    async ({ ctx, params, body }) => ok(resourceOf(ctx, await activateSiteKey(ctx, params.keyId, body))),
  )
}

function resourceOf(ctx: Ctx, key: IdentityKey) {
  return identityKeyResource(key, isActivatable(ctx, key))
}
