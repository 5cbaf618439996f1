import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { connectionString } from '../postgres/owner.ts'
import { createTestApp } from '../testing/app.ts'
import { atEnd } from '../testing/cleanup.ts'
import { createTestDatabase } from '../testing/database.ts'
import { createOrganization, createUser } from '../testing/factories.ts'
import { listen } from '../testing/ports.ts'
import { connectDatabase } from './connect.ts'
import { createDb, isUnavailable } from './db.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
// The name of a project is the error code with which its insert fails.
await sql`create function fail() returns trigger language plpgsql as
  $$ begin raise exception 'failed' using errcode = new.name; end $$`.execute(app.db)
await sql`create trigger fail before insert on projects for each row execute function fail()`.execute(app.db)

async function createFailingProject(code: string) {
  const body = { data: { type: 'projects', attributes: { name: code } } }
  const url = `/api/v2/organizations/${acme.name}/projects`
  return app.request({ method: 'POST', url, token: owner.token, body })
}

test.each([
  ['a standby', '25006'],
  ['a session that was idle for too long', '25P03'],
  ['a transaction that took too long', '25P04'],
  ['a deadlock', '40P01'],
  ['a conflict of transactions', '40001'],
  ['no memory', '53200'],
  ['no more sessions', '53300'],
  ['a lock that takes too long', '55P03'],
  ['a statement that was canceled or takes too long', '57014'],
  ['a database that stops', '57P01'],
  ['a disk that fails', '58030'],
])('%s is an outage, after which clients retry: %s', async (_, code) => {
  const response = await createFailingProject(code)

  expect(response.status).toBe(503)
  expect(response.headers['retry-after']).toBe('1')
})

test('an outage on a full disk names the disk, but not its directory', async ({ skip }) => {
  const home = join(app.config.dataDir, 'postgres')
  await mkdir(home)
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', home])
  if (status !== 0) skip('this system allows no mount')

  const response = await createFailingProject('57P01').finally(() => spawnSync('umount', [home]))

  expect(response.status).toBe(503)
  expect(response.json().errors[0].detail).toBe('the disk of the database is full, try again later')
})

test.each([
  ['a malformed message', '08P01'],
  ['a statement after a failure', '25P02'],
  ['a limit that an operator set', '53400'],
  ['corrupted data', 'XX001'],
])('%s is not an outage: %s', async (_, code) => {
  expect((await createFailingProject(code)).status).toBe(500)
})

test('too many parameters are a bug, not an outage', async () => {
  const values = Array.from({ length: 70_000 }, (_, index) => sql`${index}`)

  const error: unknown = await sql`select array[${sql.join(values)}]`.execute(app.db).catch((error: unknown) => error)

  expect(error).toMatchObject({ code: '08P01' })
  expect(isUnavailable(error)).toBe(false)
})

test.each([
  ['a host without an address', async () => 'postgres://database.invalid/app'],
  ['a database that does not exist', async () => (await missingDatabase()).href],
  ['a pooler that cannot connect', async () => failingPooler()],
])('%s is an outage', async (_, url) => {
  const db = createDb(await url())
  atEnd(() => db.destroy())

  const error: unknown = await sql`select`.execute(db).catch((error: unknown) => error)

  expect(isUnavailable(error)).toBe(true)
})

async function missingDatabase() {
  await using database = await createTestDatabase()
  return new URL(database.url)
}

/** The error of PgBouncer when its server does not respond. */
const POOLER_ERROR = Buffer.from('SFATAL\0C08P01\0Mserver_login_retry\0\0')

async function failingPooler() {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(POOLER_ERROR.length + 4)
      socket.end(Buffer.concat([Buffer.from('E'), length, POOLER_ERROR]))
    })
  })
  atEnd(() => server.close())
  return `postgres://127.0.0.1:${await listen(server)}/app`
}

test.each([
  ['53100', 'could not extend file: No space left on device', 'free some space on the disk of the database'],
  ['XX000', 'a file is damaged', 'the file postgres.log in GROUNDSTATE_DATA_DIR has the reason'],
])('the advice on error %s of the embedded database is about that database', async (code, message, advice) => {
  const directory = await mkdtemp(join(inject('directory'), 'failing-'))
  const fields = `SFATAL\0VFATAL\0C${code}\0M${message}\0\0`
  const response = Buffer.alloc(5 + fields.length)
  response.write('E')
  response.writeInt32BE(4 + fields.length, 1)
  response.write(fields, 5)
  const failing = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(response)))
  await new Promise<void>((resolve) => void failing.listen(join(directory, '.s.PGSQL.5432'), resolve))
  atEnd(() => void failing.close())

  const connecting = connectDatabase(connectionString(directory), 'test')

  await expect(connecting).rejects.toMatchObject({ advice })
})
