import { createPublicKey } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openidConfiguration, publishedKeys } from '@groundstate/contract/identity-keys'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import jwt from 'jsonwebtoken'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { App } from '../../../app.ts'
import { shortLivedContext } from '../../../secrets/sealed.ts'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createUser, type TestUser } from '../../../testing/factories.ts'
import { createReplica } from '../../../testing/replica.ts'
import { startConnectProxy, startStaticHost } from '../../../testing/static-host.ts'
import { mintTokens } from '../workload-identity/token.ts'
import { ensureIdentityKey } from './service.ts'

const HOUR_MS = 3_600_000
const WORKLOAD = {
  organization: { id: 'org-1', name: 'acme' },
  project: { id: 'prj-1', name: 'Default Project' },
  workspace: { id: 'ws-1', name: 'network' },
  runId: 'run-1',
  phase: 'apply',
} as const

const FORCE = { force: true }

let app: TestApp
let admin: TestUser
beforeEach(async () => {
  app = await createTestApp()
  admin = await createUser(app, { isSiteAdmin: true })
  await ensureIdentityKey(app)
})

type Sent = { on?: TestApp; token?: string; body?: object }

async function send(method: 'GET' | 'POST', path = '', { on = app, token = admin.token, body }: Sent = {}) {
  const response = await on.request({ method, url: `/api/v2/admin/identity-keys${path}`, token, body })
  return { status: response.status, body: response.json() }
}

async function keys() {
  const { body } = await send('GET')
  return body.data.map(({ id, attributes }: { id: string; attributes: Record<string, unknown> }) => ({
    id,
    state: attributes['state'],
    kid: attributes['key-id'],
    ...attributes,
  }))
}

async function publishedKids(on = app) {
  const { keys: list } = publishedKeys.parse((await on.request({ url: '/.well-known/jwks' })).json())
  return list.map(({ kid }) => kid)
}

async function mint(on: App = app) {
  const [minted] = await mintTokens(on, WORKLOAD, ['aws.workload.identity'])
  return minted?.token ?? ''
}

const kidOf = (token: string) => jwt.decode(token, { complete: true })?.header.kid

/** Verifies with `jsonwebtoken` and the keys that the server publishes now. */
async function verify(token: string) {
  const { keys: list } = publishedKeys.parse((await app.request({ url: '/.well-known/jwks' })).json())
  const key = list.find(({ kid }) => kid === kidOf(token))
  if (!key) throw new Error(`the key ${kidOf(token)} is not published`)
  const clockTimestamp = Math.floor(app.clock.now().getTime() / 1000)
  return jwt.verify(token, createPublicKey({ key, format: 'jwk' }), { algorithms: ['RS256'], clockTimestamp })
}

describe('the documents', () => {
  test('are public, cacheable and readable from any origin', async () => {
    const [configuration, jwks] = await Promise.all(
      ['openid-configuration', 'jwks'].map((name) => app.request({ url: `/.well-known/${name}` })),
    )

    for (const response of [configuration, jwks]) {
      expect(response?.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'public, max-age=300',
        'access-control-allow-origin': '*',
      })
    }
    expect(configuration?.json()).toMatchObject({
      issuer: 'http://groundstate.test',
      jwks_uri: 'http://groundstate.test/.well-known/jwks',
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
      claims_supported: expect.arrayContaining(['sub', 'aud', 'exp', 'terraform_full_workspace']),
    })
    expect(Object.keys(jwks?.json().keys[0]).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use'])
  })

  test('are sufficient for a third-party library to verify a token', async () => {
    const origin = await app.listen()
    const token = await mint()

    const configuration = openidConfiguration.parse(
      await (await fetch(`${origin}/.well-known/openid-configuration`)).json(),
    )
    const { payload, protectedHeader } = await jwtVerify(token, createRemoteJWKSet(new URL(configuration.jwks_uri)), {
      issuer: configuration.issuer,
      audience: 'aws.workload.identity',
      algorithms: [...configuration.id_token_signing_alg_values_supported],
    })

    expect(protectedHeader).toEqual({ typ: 'JWT', alg: 'RS256', kid: expect.any(String) })
    expect(Object.keys(payload).toSorted()).toEqual([...configuration.claims_supported].toSorted())
    expect(payload).toMatchObject({
      sub: 'organization:acme:project:Default Project:workspace:network:run_phase:apply',
      terraform_full_workspace: 'organization:acme:project:Default Project:workspace:network',
      terraform_run_phase: 'apply',
    })
    expect(payload.exp! - payload.iat!).toBe(24 * 3600)
    expect(await verify(token)).toEqual(payload)
  })

  test('name the issuer of the setting, with its path', async () => {
    const issuer = 'https://identity.example.com/groundstate'
    const external = await createTestApp({ GROUNDSTATE_ISSUER_URL: issuer })
    await ensureIdentityKey(external)

    const configuration = await external.request({ url: '/.well-known/openid-configuration' })
    const token = await mint(external)

    expect(configuration.json()).toMatchObject({ issuer, jwks_uri: `${issuer}/.well-known/jwks` })
    expect(jwt.decode(token)).toMatchObject({ iss: issuer })
  })

  test('are below the path of the base URL', async () => {
    const behind = await createTestApp({ GROUNDSTATE_BASE_URL: 'https://example.com/terraform' })
    await ensureIdentityKey(behind)

    const configuration = await behind.request({ url: '/terraform/.well-known/openid-configuration' })

    expect(configuration.json()).toMatchObject({
      issuer: 'https://example.com/terraform',
      jwks_uri: 'https://example.com/terraform/.well-known/jwks',
    })
  })
})

test('servers that start at the same time generate one key', async () => {
  const fresh = await createTestApp()
  const replica = await createReplica(fresh)

  await Promise.all([fresh, replica.app, fresh, replica.app].map((one) => ensureIdentityKey(one)))
  const tokens = await Promise.all([mint(fresh), mint(replica.app)])

  expect(await publishedKids(fresh)).toHaveLength(1)
  expect(new Set(tokens.map(kidOf)).size).toBe(1)
})

test('the private key is sealed in the database', async () => {
  const row = await app.db.selectFrom('identity_keys').selectAll().executeTakeFirstOrThrow()

  expect(() => createPublicKey({ key: row.private_key, format: 'der', type: 'spki' })).toThrow(/./)
  expect(JSON.stringify(await send('GET'))).not.toContain('private')
  expect(
    app.secrets.open(row.private_key, shortLivedContext(`identity-keys/${row.id}/private-key`)).length,
  ).toBeGreaterThan(1000)
})

describe('a rotation', () => {
  test('publishes the new key for a day before it signs, and the former one until its tokens have expired', async () => {
    const first = await mint()
    const rotated = await send('POST', '/actions/rotate')
    const before = await mint()
    const published = await publishedKids()
    app.clock.advance(24 * HOUR_MS + 1000)
    const after = await mint()
    const overlapping = await keys()

    expect(rotated).toMatchObject({ status: 201, body: { data: { attributes: { state: 'next' } } } })
    expect(kidOf(before)).toBe(kidOf(first))
    expect(published).toEqual([kidOf(after), kidOf(first)])
    expect(kidOf(after)).not.toBe(kidOf(first))
    expect(await verify(after)).toMatchObject({ aud: 'aws.workload.identity' })
    expect(overlapping).toMatchObject([{ state: 'current' }, { state: 'previous', 'retires-at': expect.any(String) }])

    app.clock.advance(24 * HOUR_MS + 11 * 60_000)

    expect(await publishedKids()).toEqual([kidOf(after)])
  })

  test('never withdraws a key before its last token expires', async () => {
    await send('POST', '/actions/rotate')
    app.clock.advance(24 * HOUR_MS - 1000)
    const last = await mint()
    const [, former] = await keys()
    app.clock.advance(24 * HOUR_MS - 60_000)

    expect(kidOf(last)).toBe(former.kid)
    expect(await verify(last)).toMatchObject({ iss: 'http://groundstate.test' })
  })

  test('is refused while a key is published that does not sign yet', async () => {
    const { body } = await send('POST', '/actions/rotate')

    const again = await send('POST', '/actions/rotate')

    const { 'key-id': kid, 'activates-at': at } = body.data.attributes
    expect(again.status).toBe(409)
    expect(again.body.errors[0].detail).toBe(`the key ${kid} is already published and signs from ${at}`)
    expect((await send('GET')).body.meta.issuer).toMatchObject({ 'can-rotate': false, 'is-external': false })
  })

  test('can be shortened to the time for which services cache the keys', async () => {
    const { body } = await send('POST', '/actions/rotate')
    const { id } = body.data
    const early = await send('POST', `/${id}/actions/activate`)
    app.clock.advance(301_000)
    const [later] = (await send('GET')).body.data
    const activated = await send('POST', `/${id}/actions/activate`)
    const again = await send('POST', `/${id}/actions/activate`)

    expect(early.status).toBe(409)
    expect(early.body.errors[0].detail).toContain('services may cache the published keys for 5 minutes')
    expect([body.data, later].map(({ attributes }) => attributes.actions['is-activatable'])).toEqual([false, true])
    expect(activated).toMatchObject({ status: 200, body: { data: { attributes: { state: 'current' } } } })
    expect(again).toMatchObject({ status: 409, body: { errors: [{ detail: expect.stringContaining('is current') }] } })
    expect(kidOf(await mint())).toBe(body.data.attributes['key-id'])
  })

  test('with an external issuer waits for its activation', async () => {
    const external = await createTestApp({ GROUNDSTATE_ISSUER_URL: 'https://127.0.0.1:1' })
    const { token } = await createUser(external, { isSiteAdmin: true })
    await ensureIdentityKey(external)
    const { body } = await send('POST', '/actions/rotate', { on: external, token })
    external.clock.advance(90 * 24 * HOUR_MS)
    const waiting = kidOf(await mint(external))
    const again = await send('POST', '/actions/rotate', { on: external, token })
    const activated = await send('POST', `/${body.data.id}/actions/activate`, { on: external, token, body: FORCE })
    external.clock.advance(5001)

    expect(body.data.attributes).toMatchObject({ 'activates-at': null, actions: { 'is-activatable': true } })
    expect(again.body.errors[0].detail).toContain('waits for its activation')
    expect(activated.status).toBe(200)
    expect(waiting).not.toBe(body.data.attributes['key-id'])
    expect(kidOf(await mint(external))).toBe(body.data.attributes['key-id'])
  })

  test('is activated only once the address of the issuer has the key, or by force', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'issuer-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    const issuer = await startStaticHost(directory)
    const external = await createTestApp({ GROUNDSTATE_ISSUER_URL: issuer })
    const { token } = await createUser(external, { isSiteAdmin: true })
    await ensureIdentityKey(external)
    await mkdir(join(directory, '.well-known'))
    const upload = async (content: string) => writeFile(join(directory, '.well-known/jwks'), content)
    const published = async () => (await external.request({ url: '/.well-known/jwks' })).text
    const former = await published()
    const { id, attributes } = (await send('POST', '/actions/rotate', { on: external, token })).body.data
    const activate = async (body?: object) => send('POST', `/${id}/actions/activate`, { on: external, token, body })

    const missing = await activate()
    await upload('<html>')
    const other = await activate()
    await upload(former)
    const outdated = await activate({ data: { type: 'identity-keys', attributes: { force: false } } })
    await upload(await published())
    const activated = await activate()

    const address = `${issuer}/.well-known/jwks`
    const advice = 'upload the documents first, or set force to true to activate it without this check'
    expect([missing, other, outdated].map(({ status }) => status)).toEqual([409, 409, 409])
    expect([missing, other, outdated].map(({ body }) => body.errors[0].detail)).toEqual([
      `the published keys at ${address} cannot be read: the status is 404: ${advice}`,
      `the published keys at ${address} cannot be read: the content is not that of the exported file: ${advice}`,
      `the published keys at ${address} do not have the key ${attributes['key-id']}: ${advice}`,
    ])
    expect(activated.status).toBe(200)
  })

  test('is checked through the proxy of the settings', async () => {
    const { url, targets } = await startConnectProxy()
    const settings = { GROUNDSTATE_ISSUER_URL: 'https://identity.example.com', GROUNDSTATE_HTTPS_PROXY: url }
    const external = await createTestApp(settings)
    const { token } = await createUser(external, { isSiteAdmin: true })
    await ensureIdentityKey(external)
    const { id } = (await send('POST', '/actions/rotate', { on: external, token })).body.data

    const refused = await send('POST', `/${id}/actions/activate`, { on: external, token })
    const forced = await send('POST', `/${id}/actions/activate`, { on: external, token, body: FORCE })

    expect(targets).toEqual(['identity.example.com:443'])
    expect([refused.status, forced.status]).toEqual([409, 200])
    const { meta } = await external.db
      .selectFrom('audit_events')
      .select('meta')
      .where('action', '=', 'activate')
      .executeTakeFirstOrThrow()
    expect(meta).toMatchObject({ force: true })
  })

  test.each([
    [{ force: 'yes' }, '/data/attributes/force'],
    [{ data: { type: 'users', attributes: {} } }, '/data/type'],
  ])('is not activated by %j', async (body, pointer) => {
    const refused = await send('POST', '/idk-none/actions/activate', { body })

    expect(refused.status).toBe(422)
    expect(refused.body.errors[0].source).toEqual({ pointer })
  })

  test('reaches other processes within seconds', async () => {
    const { app: replica } = await createReplica(app)
    await mint(replica)
    const { body } = await send('POST', '/actions/rotate')
    app.clock.advance(301_000)
    await send('POST', `/${body.data.id}/actions/activate`)
    app.clock.advance(5001)

    expect(kidOf(await mint(replica))).toBe(body.data.attributes['key-id'])
  })

  test('replaces a key that cannot be decrypted at once', async () => {
    await app.db
      .updateTable('identity_keys')
      .set({ private_key: Buffer.from('damaged') })
      .execute()
    const unreadable = await mint().catch((error: Error) => error.message)

    const { body } = await send('POST', '/actions/rotate')

    expect(unreadable).toMatch(/^the key [\w-]+, which signs identity tokens, cannot be decrypted$/)
    expect(body.data.attributes.state).toBe('current')
    expect(kidOf(await mint())).toBe(body.data.attributes['key-id'])
  })

  test('is audited', async () => {
    const { body } = await send('POST', '/actions/rotate')
    app.clock.advance(301_000)
    await send('POST', `/${body.data.id}/actions/activate`)

    const events = await app.db
      .selectFrom('audit_events')
      .select(['action', 'resource_id', 'actor_name', 'meta'])
      .where('resource_type', '=', 'identity_key')
      .orderBy('created_at')
      .execute()
    expect(events.map(({ action, actor_name: actor }) => [action, actor])).toEqual([
      ['create', 'groundstate'],
      ['rotate', admin.username],
      ['activate', admin.username],
    ])
    expect(events[2]).toMatchObject({ resource_id: body.data.id, meta: { key_id: body.data.attributes['key-id'] } })
  })

  test('of a key that does not exist is not found', async () => {
    expect((await send('POST', '/idk-none/actions/activate')).status).toBe(404)
  })

  test('is for site administrators', async () => {
    const user = await createUser(app)

    const statuses = [
      await send('GET', '', { token: user.token }),
      await send('POST', '/actions/rotate', { token: user.token }),
      await send('POST', '/idk-none/actions/activate', { token: user.token }),
    ].map(({ status }) => status)

    expect(statuses).toEqual([404, 404, 404])
  })
})

test('a longer time limit of phases keeps keys published longer', async () => {
  await ensureIdentityKey({ ...app, config: { ...app.config, applyTimeout: 48 * HOUR_MS } })
  await send('POST', '/actions/rotate')
  app.clock.advance(24 * HOUR_MS)

  const [, former] = await keys()

  expect(new Date(former['expires-at']).getTime() - new Date(former['retires-at']).getTime()).toBe(
    48 * HOUR_MS + 600_000,
  )
})
