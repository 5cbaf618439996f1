import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createApp } from '../app.ts'
import { createS3Server } from '../blobs/testing/s3-server.ts'
import { readConfig } from '../config.ts'
import { connectDatabase } from '../db/connect.ts'
import { LOADERS, REACTIONS, ROUTES } from '../features/list.ts'
import { ensureIdentityKey } from '../features/runs/identity-keys/service.ts'
import { SEALED_COLUMNS } from '../features/sealed.ts'
import { createServer } from '../http/server.ts'
import { adoptInstallation, requireSameInstallation } from '../installation.ts'
import { enqueueMail } from '../mail/mail.ts'
import { shownKeyId } from '../secrets/key-id.ts'
import { shortLivedContext } from '../secrets/sealed.ts'
import { type TestApp, createTestApp } from '../testing/app.ts'
import { groundstate } from '../testing/command-line.ts'
import { databaseUrl } from '../testing/database.ts'
import { createOrganization, createUser, createWorkspace } from '../testing/factories.ts'
import { rawState, stateClient } from '../testing/state-versions.ts'

const [A, B, C] = ['11', '22', '33'].map((byte) => byte.repeat(32)) as [string, string, string]
const idOf = (secret: string) => shownKeyId(Buffer.from(secret, 'hex'))
const LARGE = randomBytes(300_000).toString('base64')

/** An installation with the secret A and sealed content of many kinds. */
async function seeded() {
  const app = await createTestApp({ GROUNDSTATE_SMTP_URL: 'smtp://127.0.0.1:1', GROUNDSTATE_MAIL_FROM: 'a@b.example' })
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  const url = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')
  const client = await connectDatabase(url, 'test')
  await adoptInstallation(client, app.config)
  await client.end()

  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: organization.name })
  const post = async (path: string, type: string, attributes: object) => {
    const body = { data: { type, attributes } }
    const response = await app.request({ method: 'POST', url: `/api/v2/${path}`, token: owner.token, body })
    expect([path, response.status]).toEqual([path, 201])
    return response.json().data
  }
  await post(`workspaces/${workspace.id}/vars`, 'vars', { key: 'a', value: 'hidden', category: 'env', sensitive: true })
  await post(`organizations/${organization.name}/ssh-keys`, 'ssh-keys', { name: 'k', value: 'private key' })
  await post(`workspaces/${workspace.id}/notification-configurations`, 'notification-configurations', {
    name: 'n',
    url: 'http://127.0.0.1:9/',
    'destination-type': 'generic',
    token: 'hmac',
    enabled: false,
    triggers: [],
  })
  await ensureIdentityKey(app)
  await enqueueMail(app.as(), { to: 'x@example.com', subject: 's', text: 'secret link' })
  const states = stateClient(app, workspace, owner.token)
  await states.lock()
  const outputs = { password: { value: 'hidden', type: 'string', sensitive: true } }
  const first = await states.create(rawState({ serial: 1, outputs }))
  const second = await states.create(rawState({ serial: 2, outputs: { large: { value: LARGE, type: 'string' } } }))
  await app.runJobs()
  const ids = [first.id, second.id] as [string, string]
  const signedUrl = new URL((await states.show(second.id)).attributes['hosted-state-download-url']).pathname
  const diff = await app.request({ url: `/api/v2/state-versions/${ids[0]}/diff`, token: owner.token })
  expect([diff.status, diff.text]).toEqual([200, expect.anything()])

  const site = ['--database-url', url, '--data-dir', app.config.dataDir]
  const rotate = async (secret: string, previous: string, ...more: string[]) =>
    groundstate('rotate-secret', ...site, '--secret', secret, '--previous-secrets', previous, ...more)
  return { app, url, owner, ids, signedUrl, rotate }
}

/** Closes the connections of the test's app, as if its server was stopped. */
async function stop(app: TestApp) {
  await (app as TestApp & AsyncDisposable)[Symbol.asyncDispose]()
}

type Seeded = Awaited<ReturnType<typeof seeded>>

/** A server process with these secrets on the same database and blobs. */
async function openServer({ app, url }: Seeded, secret: string, previous = '') {
  const config = readConfig({
    GROUNDSTATE_DATA_DIR: app.config.dataDir,
    GROUNDSTATE_SECRET: secret,
    ...(previous && { GROUNDSTATE_PREVIOUS_SECRETS: previous }),
  })
  const options = { databaseUrl: url, baseUrl: app.baseUrl, log: app.log, runsJobs: false, reactions: REACTIONS }
  const opened = await createApp(config, options)
  const server = await createServer(opened, { routes: ROUTES, loaders: LOADERS })
  await server.fastify.ready()
  return {
    app: opened,
    get: async (path: string, token: string) =>
      server.fastify.inject({ url: path, headers: { authorization: `Bearer ${token}` } }),
    async [Symbol.asyncDispose]() {
      await server.fastify.close()
      await opened[Symbol.asyncDispose]()
    },
  }
}

/** Names of the columns that have values, and of those with values that are not sealed with the secret. */
async function sealedWith({ app }: Seeded, secret: string) {
  const id = `\\x02${idOf(secret)}`
  const used: string[] = []
  const others: string[] = []
  for (const { table, column, isBlob } of SEALED_COLUMNS) {
    const prefix = isBlob
      ? sql`substring(${sql.ref(column)} from 7 for 4)`
      : sql`substring(${sql.ref(column)} from 1 for 5)`
    const expected = isBlob ? `\\x${idOf(secret)}` : id
    const { rows } = await sql<{ all: number; other: number }>`
      select count(${sql.ref(column)})::int as all, count(*) filter (where ${prefix} <> ${expected}::bytea)::int as other
        from ${sql.table(table)}`.execute(app.db)
    if (rows[0]?.all) used.push(`${table}.${column}`)
    if (rows[0]?.other) others.push(`${table}.${column}`)
  }
  return { used, others }
}

test('the command refuses while a server seals with another secret, and then seals everything, which only the new one opens', async () => {
  const site = await seeded()
  const { app, owner, ids, signedUrl, rotate } = site
  const before = await sealedWith(site, A)

  const refused = await rotate(B, A)
  const tooEarly = await rotate(A, B)
  await stop(app)
  const both = await openServer(site, B, A)
  const during = await both.get(signedUrl, owner.token)
  const done = await rotate(B, A)
  const again = await rotate(B, A)
  await both[Symbol.asyncDispose]()
  await using after = await openServer(site, B)

  expect(before.others).toEqual([])
  expect(before.used).toEqual(
    expect.arrayContaining([
      'identity_keys.private_key',
      'notification_configurations.token',
      'notification_configurations.url',
      'ssh_keys.value',
      'state_contents.sealed',
      'state_diffs.sealed',
      'state_version_outputs.value',
      'variables.sealed_value',
    ]),
  )
  expect(refused).toEqual({
    code: 1,
    out: '',
    err: expect.stringContaining(`groundstate: a server still encrypts with another secret than ${idOf(B)}`),
  })
  expect(tooEarly).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(
      `the secret ${idOf(A)} is in use, and no server has used ${idOf(B)} yet; .* with ${idOf(B)} as GROUNDSTATE_SECRET`,
    ),
  })
  expect(during.statusCode).toBe(200)
  expect([done.code, done.err]).toEqual([0, ''])
  expect(done.out).toContain(`Nothing is encrypted with another secret than ${idOf(B)} any more.`)
  expect(done.out).toContain(`Remove ${idOf(A)} from GROUNDSTATE_PREVIOUS_SECRETS`)
  expect(again.code).toBe(0)
  expect(await sealedWith({ ...site, app: { ...app, db: after.app.db } }, B)).toEqual({
    used: [...before.used, 'installation.digest_key'].toSorted(bySealedOrder),
    others: [],
  })
  const contents = await Promise.all(
    ids.map(async (id) => {
      const shown = JSON.parse((await after.get(`/api/v2/state-versions/${id}`, owner.token)).body)
      return (await after.get(new URL(shown.data.attributes['hosted-state-download-url']).pathname, owner.token)).body
    }),
  )
  expect((await after.get(signedUrl, owner.token)).statusCode).toBe(404)
  expect(contents.map((text) => JSON.parse(text).serial)).toEqual([1, 2])
  expect(after.app.secrets.digest('x', 'y')).toBe(app.secrets.digest('x', 'y'))
  const key = await after.app.db.selectFrom('ssh_keys').selectAll().executeTakeFirstOrThrow()
  expect(after.app.secrets.openText(key.value, shortLivedContext(`ssh-keys/${key.id}/value`))).toBe('private key\n')
  expect((await after.get(`/api/v2/state-versions/${ids[0]}/diff`, owner.token)).statusCode).toBe(200)
})

const order = SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`)
const bySealedOrder = (a: string, b: string) => order.indexOf(a) - order.indexOf(b)

test('content that cannot be decrypted is named, and the change does not finish without a flag', async () => {
  const site = await seeded()
  const { app, rotate } = site
  const key = await app.db.selectFrom('ssh_keys').selectAll().executeTakeFirstOrThrow()
  const damaged = Buffer.from(key.value)
  damaged.writeUInt8(damaged.readUInt8(damaged.length - 1) ^ 1, damaged.length - 1)
  await app.db.updateTable('ssh_keys').set({ value: damaged }).execute()
  await stop(app)

  const stopped = await rotate(B, A)
  const third = await rotate(C, `${A},${B}`)
  const finished = await rotate(B, A, '--skip-unreadable')

  expect(stopped.code).toBe(1)
  expect(stopped.err).toContain(`ssh_keys.value: sealed ssh-keys/${key.id}/value is damaged`)
  expect(stopped.err).toContain('not finished: keep the other secrets')
  expect(third).toMatchObject({
    code: 1,
    err: expect.stringContaining(`the change to the secret with the id ${idOf(B)}`),
  })
  expect([finished.code, finished.err]).toEqual([0, ''])
  expect(finished.out).toContain('Skipped 1 that cannot be decrypted.')
})

test('while blobs are being moved, no secret is replaced, and the other way round', async () => {
  const site = await seeded()
  const { rotate, url } = site
  await using s3 = await createS3Server()
  const { endpoint, bucket } = s3.config
  const { flags, migrate } = await withBucket(site, s3)
  const key = await connectDatabase(url, 'test')
  onTestFinished(async () => key.end())
  await key.query('update ssh_keys set value = substring(value for length(value) - 1)')

  const begun = await migrate('s3', '--secret', A)
  const refused = await rotate(B, A)
  const restarted = await groundstate('serve', ...flags.slice(0, 4), '--secret', B, '--previous-secrets', A)
  const givenUp = await migrate('disk', '--secret', A)
  const unfinished = await rotate(B, A)
  const whileReplaced = await migrate('s3', '--secret', B, '--previous-secrets', A)
  const replaced = await rotate(B, A, '--skip-unreadable')
  const again = await migrate('s3', '--secret', B, '--previous-secrets', A)

  const moving = `the secret cannot be replaced while blobs are being moved to the bucket ${bucket} at ${endpoint}`
  expect(begun).toMatchObject({ code: 0, out: expect.stringContaining('Now stop all servers') })
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(moving) })
  expect(restarted).toMatchObject({ code: 1, err: expect.stringContaining(moving) })
  expect(givenUp).toMatchObject({ code: 0, out: expect.stringContaining(`The move to the bucket ${bucket}`) })
  expect([unfinished.code, unfinished.err]).toEqual([1, expect.stringContaining('not finished')])
  expect(whileReplaced).toMatchObject({
    code: 1,
    err: expect.stringContaining(`the secret is being replaced by the one with the id ${idOf(B)}`),
  })
  expect(replaced).toMatchObject({ code: 0, err: '' })
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining('Now stop all servers') })
})

/** Stops the server; from then on commands get the settings of the bucket too. */
async function withBucket({ app, url }: Seeded, { config }: Awaited<ReturnType<typeof createS3Server>>) {
  await stop(app)
  const bucket = ['--s3-endpoint', config.endpoint, '--s3-bucket', config.bucket]
  const keys = ['--s3-access-key-id', config.accessKeyId, '--s3-secret-access-key', config.secretAccessKey]
  const flags = ['--database-url', url, '--data-dir', app.config.dataDir, ...bucket, ...keys]
  const migrate = async (to: string, ...secrets: string[]) =>
    groundstate('migrate-storage', '--to', to, ...flags, ...secrets)
  return { flags, migrate }
}

test('a store that is adopted during a move to it, after the move was given up, excludes a new secret again', async () => {
  const site = await seeded()
  await using s3 = await createS3Server()
  const { flags, migrate } = await withBucket(site, s3)
  await migrate('s3', '--secret', A)
  await migrate('disk', '--secret', A)
  await groundstate('blobs', 'adopt', ...flags, '--secret', A)

  const restarted = await groundstate('serve', ...flags, '--secret', B, '--previous-secrets', A)
  const back = await migrate('disk', '--secret', A)
  const finished = await migrate('s3', '--secret', A)
  const replaced = await groundstate('rotate-secret', ...flags, '--secret', B, '--previous-secrets', A)

  const moving = `blobs are being moved to the bucket ${s3.config.bucket}`
  expect(restarted).toMatchObject({ code: 1, err: expect.stringContaining(`cannot be replaced while ${moving}`) })
  expect(back).toMatchObject({ code: 1, err: expect.stringMatching(`${moving}.*migrate-storage --to s3`) })
  expect(finished).toMatchObject({ code: 0, out: expect.stringContaining('All blobs are moved') })
  expect(replaced).toMatchObject({ code: 0, err: '' })
})

test('a move that servers have switched to without recording it ends although the secret is being replaced', async () => {
  const site = await seeded()
  const { app, url } = site
  await using s3 = await createS3Server()
  const { flags, migrate } = await withBucket(site, s3)
  await migrate('s3', '--secret', A)
  await groundstate('blobs', 'adopt', ...flags, '--secret', A)
  const client = await connectDatabase(url, 'test')
  onTestFinished(async () => client.end())
  const record = async () =>
    (await client.query('select blob_move_place is null as none, next_secret_id as next from installation')).rows[0]
  // As a release that did not record moves leaves the row.
  await client.query('update installation set blob_move_place = null')
  const { endpoint, bucket, accessKeyId, secretAccessKey } = s3.config
  const next = ['--secret', B, '--previous-secrets', A]
  const settings = { dataDir: app.config.dataDir, databaseUrl: url, s3Endpoint: endpoint, s3Bucket: bucket }
  const config = readConfig(
    {},
    { ...settings, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey, secret: B, previousSecrets: A },
  )

  await requireSameInstallation(client, config)
  const recorded = await record()
  const refused = await groundstate('rotate-secret', ...flags, ...next)
  const finished = await migrate('s3', ...next)
  const replaced = await groundstate('rotate-secret', ...flags, ...next)

  expect(recorded).toEqual({ none: false, next: idOf(B) })
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('run `groundstate migrate-storage` again') })
  expect(finished).toMatchObject({ code: 0, out: expect.stringContaining('All blobs are moved') })
  expect([replaced.code, replaced.err, await record()]).toEqual([0, '', { none: true, next: null }])
})

test('after a move was given up, a command with the settings of its target names the store in use', async () => {
  const site = await seeded()
  await using s3 = await createS3Server()
  const { flags, migrate } = await withBucket(site, s3)
  await migrate('s3', '--secret', A)
  await migrate('disk', '--secret', A)
  const next = ['--secret', B, '--previous-secrets', A]
  const key = await connectDatabase(site.url, 'test')
  onTestFinished(async () => key.end())
  await key.query('update ssh_keys set value = substring(value for length(value) - 1)')
  const unfinished = await site.rotate(B, A)

  const rotated = await groundstate('rotate-secret', ...flags, ...next)
  const moved = await migrate('s3', ...next)
  const replaced = await groundstate('rotate-secret', ...flags, ...next, '--blob-store', 'disk', '--skip-unreadable')
  const again = await migrate('s3', ...next)

  const moving = `blobs are being moved to the bucket ${s3.config.bucket}`
  expect([unfinished.code, unfinished.err]).toEqual([1, expect.stringContaining('not finished')])
  expect(rotated).toMatchObject({ code: 1, err: expect.stringMatching(`${moving}.*migrate-storage --to s3`) })
  expect(moved).toMatchObject({
    code: 1,
    err: expect.stringMatching(/with the blobs in the directory .*rotate-secret/),
  })
  expect(replaced).toMatchObject({ code: 0, err: '' })
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining('Now stop all servers') })
})
