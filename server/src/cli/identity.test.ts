import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openidConfiguration, publishedKeys } from '@groundstate/contract/identity-keys'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { sql } from 'kysely'
import { beforeEach, expect, inject, onTestFinished, test } from 'vitest'
import { connectDatabase } from '../db/connect.ts'
import { ensureIdentityKey } from '../features/runs/identity-keys/service.ts'
import { mintTokens } from '../features/runs/workload-identity/token.ts'
import { requireSameSecret } from '../secrets/mark.ts'
import { createTestApp, type TestApp } from '../testing/app.ts'
import { groundstate } from '../testing/command-line.ts'
import { createTestDatabase, databaseUrl } from '../testing/database.ts'
import { startConnectProxy, startStaticHost } from '../testing/static-host.ts'

const SECRET = '11'.repeat(32)
const WORKLOAD = {
  organization: { id: 'org-1', name: 'acme' },
  project: { id: 'prj-1', name: 'Default Project' },
  workspace: { id: 'ws-1', name: 'network' },
  runId: 'run-1',
  phase: 'plan',
} as const

let app: TestApp
let site: string[]
let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'identity-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
})

async function start(settings: Record<string, string> = {}) {
  app = await createTestApp(settings)
  await ensureIdentityKey(app)
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const url = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')
  const client = await connectDatabase(url, 'test')
  await requireSameSecret(client, app.config)
  await client.end()
  const flags = Object.entries(settings).flatMap(([name, value]) => [
    `--${name.replace('GROUNDSTATE_', '').toLowerCase().replaceAll('_', '-')}`,
    value,
  ])
  site = ['--database-url', url, '--secret', SECRET, ...flags]
}

const identity = (command: string, ...args: string[]) => groundstate('identity', command, ...site, ...args)

/** The exported documents, as a verifier reads them. */
async function exported() {
  const read = async (name: string) => JSON.parse(await readFile(join(directory, '.well-known', name), 'utf8'))
  return {
    configuration: openidConfiguration.parse(await read('openid-configuration')),
    jwks: publishedKeys.parse(await read('jwks')),
  }
}

async function mint() {
  const [minted] = await mintTokens(app, WORKLOAD, ['aws.workload.identity'])
  return minted?.token ?? ''
}

test('the exported documents are sufficient to verify a token', async () => {
  await start({ GROUNDSTATE_ISSUER_URL: 'https://identity.example.com/a' })

  const { code, out, err } = await identity('export', directory)

  const { configuration, jwks } = await exported()
  const { payload } = await jwtVerify(await mint(), createLocalJWKSet(jwks), {
    issuer: configuration.issuer,
    audience: 'aws.workload.identity',
  })
  expect([code, err]).toEqual([0, ''])
  expect(configuration.jwks_uri).toBe('https://identity.example.com/a/.well-known/jwks')
  expect(payload).toMatchObject({ iss: 'https://identity.example.com/a', terraform_run_phase: 'plan' })
  expect(out).toContain(join(directory, '.well-known/jwks'))
  expect(out).toContain('content type application/json')
  expect(out).toContain('https://identity.example.com/a/.well-known/openid-configuration')
})

test('with an external issuer a new key signs only once it was uploaded', async () => {
  const issuer = await startStaticHost(directory)
  await start({ GROUNDSTATE_ISSUER_URL: issuer })
  await identity('export', directory)
  const first = decodeProtectedHeader(await mint()).kid

  const rotated = await identity('rotate')
  const notUploaded = await identity('activate')
  const exportedAgain = await identity('export', directory)
  const activated = await identity('activate')
  app.clock.advance(5001)
  const second = decodeProtectedHeader(await mint()).kid

  expect(rotated.out).toContain('waits for its activation')
  expect(rotated.out).toContain(`upload both documents to ${issuer}`)
  expect(notUploaded.code).toBe(1)
  expect(notUploaded.err).toMatch(/^groundstate: the published keys at https:\S+ do not have the key \S+; upload /m)
  expect(exportedAgain.out).toContain('Then run `groundstate identity activate`')
  expect(activated).toMatchObject({ code: 0, out: expect.stringMatching(/^The key [\w-]+ signs now\.\n$/) })
  expect(second).not.toBe(first)
  expect((await exported()).jwks.keys.map(({ kid }) => kid)).toEqual([second, first])
  await expect(jwtVerify(await mint(), createLocalJWKSet((await exported()).jwks))).resolves.toBeDefined()
})

test('an activation without the check needs --force', async () => {
  await start({ GROUNDSTATE_ISSUER_URL: 'https://127.0.0.1:1' })
  await identity('rotate')

  const refused = await identity('activate')
  const forced = await identity('activate', '--force')

  expect([refused.code, forced.code]).toEqual([1, 0])
  expect(refused.err).toMatch(
    /^groundstate: the published keys at https:\/\/127\.0\.0\.1:1\/\S+ cannot be read: [^\n]+; upload [^\n]+\n$/,
  )
})

test('an activation checks the keys through the proxy of the settings', async () => {
  const { url, targets } = await startConnectProxy()
  await start({ GROUNDSTATE_ISSUER_URL: 'https://identity.example.com', GROUNDSTATE_HTTPS_PROXY: url })
  await identity('rotate')

  const { code } = await identity('activate')

  expect(code).toBe(1)
  expect(targets).toEqual(['identity.example.com:443'])
})

test('a rotation on the command line is listed, audited and refused twice', async () => {
  await start({ GROUNDSTATE_BASE_URL: 'https://groundstate.example.com' })

  const rotated = await identity('rotate')
  const again = await identity('rotate')
  const early = await identity('activate')
  const listed = await identity('keys')

  expect(rotated.out).toMatch(/^The key [\w-]+ is published and signs from \S+Z\.\nTo use it earlier/)
  expect([again.code, early.code]).toEqual([1, 1])
  expect(again.err).toMatch(/^groundstate: the key [\w-]+ is already published and signs from [^\n]+\n$/)
  expect(early.err).toContain('services may cache the published keys for 5 minutes')
  expect(listed.out).toMatch(/^[\w-]{43} {2}next {6}signs from \S+\n[\w-]{43} {2}current {3}signs from \S+, published /)
  const events = await app.db
    .selectFrom('audit_events')
    .select(['action', 'actor_name'])
    .where('resource_type', '=', 'identity_key')
    .where('action', '=', 'rotate')
    .execute()
  expect(events).toEqual([{ action: 'rotate', actor_name: 'groundstate' }])
})

test('a key scheduled by time waits for its activation once the issuer is external', async () => {
  const own = 'https://groundstate.example.com'
  await start({ GROUNDSTATE_BASE_URL: own })
  await identity('rotate')
  const restart = async (issuerUrl: string) => ensureIdentityKey({ ...app, config: { ...app.config, issuerUrl } })

  await restart(own)
  const scheduled = await identity('keys')
  await restart('https://identity.example.com')
  await restart('https://other.example.com')
  const waiting = await identity('keys')
  const written = await identity('export', directory)
  app.clock.advance(25 * 3_600_000)
  const { kid } = decodeProtectedHeader(await mint())

  const [next, current] = (await exported()).jwks.keys
  expect(scheduled.out).toMatch(/^\S+ {2}next {6}signs from /)
  expect(waiting.out).toMatch(/^\S+ {2}next {6}waits for its activation\n\S+ {2}current {3}signs from [\d.:TZ-]+\n$/)
  expect(written.out).toContain(`Then run \`groundstate identity activate\`: the key ${next?.kid} waits for it.`)
  expect(kid).toBe(current?.kid)
  const events = app.db.selectFrom('audit_events').select(['actor_name', 'meta']).where('action', '=', 'update')
  expect(await events.where('resource_type', '=', 'identity_key').execute()).toEqual([
    {
      actor_name: 'groundstate',
      meta: expect.objectContaining({ key_id: next?.kid, issuer: 'https://identity.example.com' }),
    },
  ])
})

test('a key that does not exist cannot be withdrawn', async () => {
  await start()

  expect(await identity('withdraw', 'mistyped')).toMatchObject({
    code: 1,
    err: 'groundstate: there is no identity key mistyped: groundstate identity keys lists them\n',
  })
})

test('a leaked key is withdrawn once another one signs', async () => {
  await start({ GROUNDSTATE_ISSUER_URL: 'https://127.0.0.1:1' })
  const token = await mint()
  const { kid = '' } = decodeProtectedHeader(token)
  await identity('rotate')
  const refused = await identity('withdraw', kid)
  await identity('activate', '--force')
  const early = await identity('withdraw', kid)
  await app.db
    .updateTable('identity_keys')
    .set({ activates_at: sql`activates_at - interval '10 seconds'` })
    .execute()

  const withdrawn = await identity('withdraw', kid)
  const again = await identity('withdraw', kid)
  await identity('export', directory)

  expect(refused.err).toBe(`groundstate: the key ${kid} is current: only a previous key can be withdrawn\n`)
  expect(early.code).toBe(1)
  expect(early.err).toMatch(
    /^groundstate: servers may sign with the key [\w-]+ until \S+Z: withdraw it from then on\n$/,
  )
  expect(withdrawn).toMatchObject({ code: 0, out: expect.stringContaining('Export and upload the documents') })
  expect(again.code).toBe(1)
  await expect(jwtVerify(token, createLocalJWKSet((await exported()).jwks))).rejects.toThrow('no applicable key')
  const events = app.db.selectFrom('audit_events').select('id').where('resource_type', '=', 'identity_key')
  expect(await events.where('action', '=', 'destroy').execute()).toHaveLength(1)
})

test('without a key to activate, activate says what to do', async () => {
  await start()

  expect(await identity('activate')).toMatchObject({
    code: 1,
    err: 'groundstate: there is no key to activate: rotate the keys first\n',
  })
})

test("an export for the server's own address warns", async () => {
  await start({ GROUNDSTATE_BASE_URL: 'https://groundstate.example.com' })

  await identity('rotate')

  const { code, out, err } = await identity('export', directory)

  expect(code).toBe(0)
  expect(out).toMatch(/^Upload them soon: the key [\w-]+ signs from /m)
  expect(err).toMatch(/^groundstate: the issuer https:\/\/groundstate\.example\.com is this server's own address/)
})

test('commands know the issuer of the server without its settings', async () => {
  await start({ GROUNDSTATE_ISSUER_URL: 'https://identity.example.com' })
  site = site.slice(0, 4)

  const rotated = await identity('rotate')
  const written = await identity('export', directory)
  const activated = await identity('activate', '--force')

  expect(rotated.out).toContain('upload both documents to https://identity.example.com')
  expect([written.code, written.err]).toEqual([0, ''])
  expect((await exported()).configuration.issuer).toBe('https://identity.example.com')
  expect(activated.code).toBe(0)
})

test('a directory that cannot be written is one line', async () => {
  await start({ GROUNDSTATE_ISSUER_URL: 'https://identity.example.com' })

  const { code, err } = await identity('export', '/proc/groundstate')

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: can't make the directory \/proc\/groundstate\/\.well-known: [^\n]+\n$/)
})

test('another secret than that of the database is rejected', async () => {
  await start()

  const { code, err } = await groundstate('identity', 'rotate', ...site.slice(0, 2), '--secret', '22'.repeat(32))

  expect(code).toBe(1)
  expect(err).toContain('created with')
})

test('a database without tables is rejected', async () => {
  await using empty = await createTestDatabase()

  const { code, err } = await groundstate('identity', 'keys', '--database-url', empty.url, '--secret', SECRET)

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: the database \S+ has no keys for identity tokens; [^\n]+\n$/)
})
