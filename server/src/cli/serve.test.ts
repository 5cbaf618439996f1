import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createS3Server, type S3Server } from '../blobs/testing/s3-server.ts'
import { archiveOf } from '../testing/archives.ts'
import { passedBy } from '../testing/database-proxy.ts'
import { createTestDatabase, execute } from '../testing/database.ts'

const ADMIN_TOKEN = 'a-token-of-the-first-administrator'
const BIN = join(import.meta.dirname, '../../bin/groundstate')

async function spawnServer(databaseUrl: string, flags = ['--agents', '0']) {
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-serve-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const dataDir = join(directory, 'data')
  const args = ['serve', '--port', '0', '--data-dir', dataDir, '--database-url', databaseUrl, ...flags]
  const server = spawn(BIN, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  return { server, ended: once(server, 'exit'), dataDir }
}

async function startServer(databaseUrl: string, flags?: string[]) {
  const started = await spawnServer(databaseUrl, flags)
  const [greeting] = await once(started.server.stdout, 'data')
  return { ...started, url: /ready at (\S+)/.exec(String(greeting))?.[1] ?? '' }
}

async function* linesOf(stream: Readable, part: string) {
  for await (const line of createInterface(stream)) if (line.includes(part)) yield line
}

function bucketFlags({ bucket, endpoint, accessKeyId, secretAccessKey }: S3Server['config']) {
  const s3 = ['--s3-bucket', bucket, '--s3-endpoint', endpoint]
  const keys = ['--s3-access-key-id', accessKeyId, '--s3-secret-access-key', secretAccessKey]
  return [...s3, ...keys, '--secret', '11'.repeat(32), '--isolation', 'off']
}

test.each(['SIGTERM', 'SIGHUP'] as const)('%s drains a server whose terminal was closed', async (signal) => {
  await using database = await createTestDatabase()
  const { server, ended } = await startServer(database.url)
  server.stdout.destroy()
  server.stderr.destroy()

  server.kill(signal)

  expect(await ended).toEqual([0, null])
})

test.each([
  ['hooks', 'GROUNDSTATE_HOOKS'],
  ['provider-mirror', 'GROUNDSTATE_PROVIDER_MIRROR'],
])('a server whose agent cannot use the directory of --%s says so in one line', async (flag, variable) => {
  await using database = await createTestDatabase()
  const { server, ended } = await spawnServer(database.url, [`--${flag}`, '/nope'])
  const output = text(server.stdout)
  const logged = text(server.stderr)
  await once(server.stdout, 'data')

  server.kill('SIGTERM')

  expect(await ended).toEqual([0, null])
  const problem = `${variable} /nope: there is no such file or directory`
  expect(await output).toContain(`\nThe built-in agent does not run: ${problem}\n`)
  const errors = (await logged).split('\n').filter((line) => line.includes('"level":"error"'))
  expect(errors.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ message: `the built-in agent does not run: ${problem}` }),
  ])
  expect(errors[0]).not.toContain('stack')
})

test(
  'the second server with a data directory says in one line that its agent does not run',
  { timeout: 60_000 },
  async () => {
    await using database = await createTestDatabase()
    const flags = ['--isolation', 'off']
    const first = await startServer(database.url, flags)
    const second = await spawnServer(database.url, [...flags, '--data-dir', first.dataDir])
    const errors = linesOf(second.server.stderr, '"level":"error"')

    const { value: error } = await errors.next()
    for (const { server } of [first, second]) server.kill('SIGTERM')

    expect(JSON.parse(String(error))).toEqual({
      level: 'error',
      time: expect.any(String),
      pid: second.server.pid,
      hostname: hostname(),
      message:
        `the built-in agent does not run: another server uses GROUNDSTATE_DATA_DIR ${first.dataDir}, process ${first.server.pid}; ` +
        'set GROUNDSTATE_AGENTS=0 for all but one of the servers with one data directory, or give this one another',
    })
    expect(await Promise.all([first.ended, second.ended])).toEqual([
      [0, null],
      [0, null],
    ])
  },
)

test('SIGQUIT ends a server without a drain', async () => {
  await using database = await createTestDatabase()
  const { server, ended } = await startServer(database.url)

  server.kill('SIGQUIT')

  expect(await ended).toEqual([131, null])
})

test('SIGTERM stops a server whose bucket does not respond any more', { timeout: 90_000 }, async () => {
  await using database = await createTestDatabase()
  await using store = await createS3Server()
  const flags = [...bucketFlags(store.config), '--admin-token', ADMIN_TOKEN, '--agents', '0']
  const { server, ended, url } = await startServer(database.url, flags)
  const post = async (path: string, type: string, attributes: object) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/vnd.api+json' }
    const body = JSON.stringify({ data: { type, attributes } })
    return (await (await fetch(`${url}/api/v2${path}`, { method: 'POST', headers, body })).json()) as any
  }
  const workspace = await post('/organizations/main/workspaces', 'workspaces', { name: 'w' })
  const path = `/workspaces/${workspace.data.id}/configuration-versions`
  const version = await post(path, 'configuration-versions', { 'auto-queue-runs': false })
  store.faults.push(...Array.from({ length: 10 }, () => 'silent' as const))
  const before = store.requests.length
  const body = new Uint8Array(archiveOf({ 'main.tf': '' }))
  const upload = fetch(version.data.attributes['upload-url'], { method: 'PUT', body }).catch(() => undefined)
  await expect.poll(() => store.requests.length).toBeGreaterThan(before)
  const stoppedAt = performance.now()

  server.kill('SIGTERM')

  expect(await ended).toEqual([0, null])
  expect(performance.now() - stoppedAt).toBeLessThan(25_000)
  await upload
})

test.each([
  ['drops its connections to the database', false],
  ['does not let it reach the database any more', true],
])('SIGTERM stops a server whose network silently %s', { timeout: 120_000 }, async (_, isForAll) => {
  await using database = await createTestDatabase()
  let isCut = false
  const open: { isLost: boolean }[] = []
  const url = await passedBy(database.url, (client, target) => {
    const connection = { isLost: isCut }
    open.push(connection)
    // Not even the end of a connection arrives.
    for (const socket of [client, target]) socket.allowHalfOpen = true
    client.on('data', (data: Buffer) => void (connection.isLost || target.write(data)))
    target.on('data', (data: Buffer) => void (connection.isLost || client.write(data)))
    client.on('end', () => void (connection.isLost || target.end()))
    target.on('end', () => void (connection.isLost || client.end()))
  })
  const { server, ended } = await startServer(url)
  const stoppedAt = performance.now()

  isCut = isForAll
  for (const connection of open) connection.isLost = true
  server.kill('SIGTERM')

  expect(await ended).toEqual([0, null])
  expect(performance.now() - stoppedAt).toBeLessThan(40_000)
})

test('with an external database and a bucket, a missing data directory is created for this user only', async () => {
  await using database = await createTestDatabase()
  await using store = await createS3Server()

  const { server, ended, dataDir } = await startServer(database.url, bucketFlags(store.config))
  const { mode } = await stat(dataDir)
  server.kill('SIGQUIT')
  await ended

  expect(mode & 0o777).toBe(0o700)
})

test('a start that cannot create the key of identity tokens creates no administrator', async () => {
  await using database = await createTestDatabase()
  // Fails as late as an administrator that is created at the same time needs.
  await execute(
    database.url,
    `create function refuse() returns trigger language plpgsql as $$ begin
       for attempt in 1..50 loop
         exit when exists (select from users where is_site_admin);
         perform pg_sleep(0.02);
       end loop;
       raise exception 'no key can be created';
     end $$;
     create trigger refuse before insert on identity_keys execute function refuse()`,
  )

  const { server, ended } = await spawnServer(database.url)
  const [errors, [code]] = await Promise.all([text(server.stderr), ended])

  expect(code).toBe(1)
  expect(errors).toContain('no key can be created')
  const { rows } = await execute(database.url, 'select username from users where is_site_admin')
  expect(rows).toEqual([])
})
