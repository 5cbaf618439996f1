import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { describe, expect, inject, test } from 'vitest'
import { groundstate } from '../testing/command-line.ts'
import { createTestDatabase, databaseUrl, execute } from '../testing/database.ts'
import { createStateSetting, lockedWorkspace, rawState } from '../testing/state-versions.ts'
import { createEmptySite } from './testing/empty-site.ts'

const { directory, empty } = await createEmptySite()

function stranger() {
  const url = new URL(inject('postgres').adminUrl)
  url.username = 'nobody_here'
  return url.href
}

const COMMANDS = [
  ['serve', '--port', '0', '--agents', '0'],
  ['token', 'create'],
]

describe.each(COMMANDS)('a database that cannot be used is one line of `%s`', (...command) => {
  test.each([
    { url: () => 'foo', says: '--database-url' },
    { url: () => 'mysql://a/b', says: 'postgresql://' },
    { url: () => 'postgres://a:topsecret@127.0.0.1:1/x', says: '127.0.0.1:1/x: nothing is listening there' },
    { url: () => 'postgres://a:topsecret@nowhere.invalid/x', says: 'nowhere.invalid' },
    { url: () => databaseUrl(inject('postgres').adminUrl, 'not_made'), says: '"not_made" does not exist' },
    { url: stranger, says: 'nobody_here' },
  ])('$says', async ({ url, says }) => {
    const { code, err } = await groundstate(...command, '--data-dir', directory, '--database-url', url())

    expect(code).toBe(1)
    expect(err).toMatch(/^groundstate: [^\n]+\n$/)
    expect(err).toContain(says)
    expect(err).not.toContain('topsecret')
  })
})

test('an invalid secret is named before anything is created', async () => {
  const where = join(directory, 'unmade')

  const { code, err } = await groundstate('serve', '--data-dir', where, '--secret', 'abc')

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: --secret[^\n]*: it must be 32 bytes, as 64 hex digits or as base64\n$/)
  expect(await readdir(directory)).not.toContain('unmade')
})

test('each invalid setting has its own line with the name of the program', async () => {
  const { code, err } = await groundstate('serve', '--port', 'http', '--secret', 'abc')

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: --port[^\n]*\ngroundstate: --secret[^\n]*\n$/)
})

test('token create creates no database', async () => {
  const where = join(directory, 'unmade')

  const { code, err } = await groundstate('token', 'create', '--data-dir', where)

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: there is no database in [^\n]*unmade; [^\n]+\n$/)
  expect(await readdir(directory)).not.toContain('unmade')
})

test.runIf(process.geteuid?.() === 0)('root leaves the data directory of another user as it is', async () => {
  const where = join(directory, 'of-another-user')
  await mkdir(join(where, 'postgres/cluster'), { recursive: true })
  await mkdir(join(where, 'blobs'))
  await writeFile(join(where, 'postgres/cluster/PG_VERSION'), '18\n')
  const entries = await readdir(where, { recursive: true })
  for (const path of ['', ...entries]) await chown(join(where, path), 12_345, 12_345)
  await chmod(where, 0o700)
  const refused = `${where} belongs to the user id 12345`

  const outcomes = []
  const serve = 'serve --port 0'
  const external = `${serve} --database-url ${empty.url}`
  for (const command of [serve, external, 'token create', 'backup /tmp/x', 'blobs adopt', 'rotate-secret'])
    outcomes.push(await groundstate(...command.split(' '), '--data-dir', where))
  const doctor = await groundstate('doctor', '--data-dir', where, '--port', '0')

  expect(outcomes.filter(({ code, err }) => code !== 1 || !err.includes(refused))).toEqual([])
  for (const check of ['data directory', 'database      '])
    expect(doctor.out).toMatch(new RegExp(`✗ ${check} ${refused}.*\\n +→ run this as that user, .*sudo -u '#12345'`))
  expect(await readdir(where, { recursive: true })).toEqual(entries)
})

test.runIf(process.geteuid?.() === 0)('a user who cannot read the data directory learns whose it is', async () => {
  const where = join(directory, 'of-the-service')
  await mkdir(join(where, 'postgres/cluster'), { recursive: true })
  await writeFile(join(where, 'postgres/cluster/PG_VERSION'), '18\n')
  await writeFile(join(where, 'secret'), '11'.repeat(32))
  for (const path of ['', ...(await readdir(where, { recursive: true }))])
    await chown(join(where, path), 12_345, 12_345)
  await chmod(where, 0o700)

  const outcomes = []
  process.seteuid?.('nobody')
  try {
    for (const command of [
      'serve --port 0',
      'token create',
      'backup /tmp/x',
      'blobs adopt',
      'rotate-secret',
      'migrate-storage --to s3 --s3-bucket b --s3-access-key-id a --s3-secret-access-key s',
      'doctor --port 0',
    ])
      outcomes.push({ command, ...(await groundstate(...command.split(' '), '--data-dir', where)) })
  } finally {
    process.seteuid?.(0)
  }

  const unclear = outcomes.filter(
    ({ code, err, out }) =>
      code !== 1 ||
      !new RegExp(`${where}\\S*: permission denied(; |\\n +→ )run this as the user id 12345, .*sudo -u '#12345'`).test(
        `${err}${out}`,
      ),
  )
  expect(unclear).toEqual([])
})

test('token create rejects a database without tables', async () => {
  const { code, err } = await groundstate('token', 'create', '--database-url', empty.url)

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: [^\n]+ has no Groundstate tables; [^\n]+\n$/)
})

test.each([
  [
    'an older',
    `delete from schema_migrations where name = (select max(name) from schema_migrations)`,
    'start this version',
  ],
  ['a newer', `insert into schema_migrations (name) values ('9999-later')`, 'run the command of that version'],
])('rotate-secret advises on a database of %s version', async (_, statement, advice) => {
  await using database = await createTestDatabase()
  await execute(database.url, statement)

  const { code, err } = await groundstate('rotate-secret', '--database-url', database.url, '--data-dir', directory)

  expect(code).toBe(1)
  expect(err).toContain(advice)
})

test.each([
  ['serve', '--data-dir', '/proc/groundstate', '--port', '0'],
  ['token', 'create', '--data-dir', '/proc/groundstate'],
])('a data directory that cannot be created is one line of `%s`', async (...command) => {
  const { code, err } = await groundstate(...command)

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: [^\n]*\/proc\/groundstate[^\n]+ GROUNDSTATE_DATA_DIR [^\n]+\n$/)
})

test('files of the data directory that cannot be used are one line with the setting', async () => {
  await using database = await createTestDatabase()
  const serve = (dataDir: string) =>
    groundstate('serve', '--port', '0', '--agents', '0', '--database-url', database.url, '--data-dir', dataDir)
  const file = join(directory, 'file')
  const secret = join(directory, 'unreadable/secret')
  await writeFile(file, '')
  await mkdir(secret, { recursive: true })

  const inFile = await serve(join(file, 'data'))
  const noSecret = await serve(dirname(secret))

  expect([inFile.code, noSecret.code]).toEqual([1, 1])
  expect(inFile.err).toMatch(
    /^groundstate: can't use [^\n]*file\/data[^\n]*: a part of the path is a file; check GROUNDSTATE_DATA_DIR\n$/,
  )
  expect(noSecret.err).toMatch(/^groundstate: can't use [^\n]*secret: it is a directory; check GROUNDSTATE_DATA_DIR\n$/)
})

test('a data directory that the embedded database cannot use is one line with the setting', async () => {
  const where = join(directory, 'postgres-is-file')
  await mkdir(where)
  await writeFile(join(where, 'postgres'), '')

  const { code, err } = await groundstate('serve', '--port', '0', '--data-dir', where)

  expect(code).toBe(1)
  expect(err).toMatch(
    /^groundstate: can't use [^\n]*file\/postgres: it exists and is not a directory; check GROUNDSTATE_DATA_DIR\n$/,
  )
})

test('a directory of the agent that cannot be used is reported before the administrator is created', async () => {
  await using database = await createTestDatabase()
  const where = join(directory, 'agent-is-file')
  await mkdir(where)
  await writeFile(join(where, 'agent'), '')
  const serve = ['serve', '--port', '0', '--isolation', 'off', '--database-url', database.url, '--data-dir', where]

  const { code, err } = await groundstate(...serve)
  const token = await groundstate('token', 'create', '--database-url', database.url)

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: [^\n]*agent-is-file\/agent is a file, not a directory; [^\n]+\n$/)
  expect(token.err).toContain('there is no account')
})

test('a data directory for blobs alone is created for this user only', async () => {
  await using database = await createTestDatabase()
  const where = join(directory, 'only-blobs')
  const site = ['--data-dir', where, '--database-url', database.url, '--secret', '11'.repeat(32)]

  const { code } = await groundstate('blobs', 'adopt', ...site)

  expect(code).toBe(0)
  expect((await stat(where)).mode & 0o777).toBe(0o700)
})

test('serve rejects the blobs of another database until they are adopted', async () => {
  await using database = await createTestDatabase()
  const site = ['--database-url', database.url, '--secret', '11'.repeat(32)]
  const where = (name: string) => ['--data-dir', join(directory, name), ...site]
  await groundstate('blobs', 'adopt', ...where('first'))

  const serve = ['serve', '--port', '0', '--agents', '0', ...where('second')]
  const { code, err } = await groundstate(...serve)
  const doctor = await groundstate('doctor', '--port', '0', ...where('second'))
  const adopted = await groundstate('blobs', 'adopt', ...where('second'))
  const after = await groundstate('doctor', '--port', '0', ...where('second'))

  expect(code).toBe(1)
  expect(err).toMatch(/^groundstate: the blobs of the database are in [^\n]*first\/blobs[^\n]*second\/blobs[^\n]+\n$/)
  expect(doctor.out).toMatch(
    /✗ blobs +the blobs of the database are in .*first\/blobs.*\n +→ .*groundstate blobs adopt/,
  )
  expect(adopted).toMatchObject({ code: 0, out: expect.stringContaining('second/blobs') })
  expect(after.out).toMatch(/✓ blobs +the directory .*second\/blobs/)
})

test('blobs of which the database names none are not adopted, and a new database does not advise it', async () => {
  const { app, ada, organization } = await createStateSetting()
  const workspace = await lockedWorkspace(app, organization, ada)
  const noise = randomBytes(300_000).toString('base64')
  await workspace.create(rawState({ outputs: { noise } }))
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(app.db)
  await app.signals[Symbol.asyncDispose]()
  const site = ['--data-dir', app.config.dataDir, '--secret', '11'.repeat(32), '--database-url']
  const right = databaseUrl(inject('postgres').adminUrl, rows[0]?.name ?? '')
  await using other = await createTestDatabase()

  const unmarked = await groundstate('blobs', 'adopt', ...site, other.url)
  const adopted = await groundstate('blobs', 'adopt', ...site, right)
  const served = await groundstate('serve', '--port', '0', '--agents', '0', ...site, other.url)
  const refused = await groundstate('blobs', 'adopt', ...site, other.url)
  const again = await groundstate('blobs', 'adopt', ...site, right)

  for (const { code, out, err } of [unmarked, refused]) {
    expect([code, out]).toEqual([1, ''])
    expect(err).toMatch(
      /^groundstate: the database names none of the blobs in the directory [^\n]*, which a server would delete; [^\n]+\n$/,
    )
  }
  expect([adopted.code, again.code]).toEqual([0, 0])
  expect(served.err).toMatch(
    /^groundstate: the database is new, and [^\n]* holds the blobs of another database [^\n]+\n$/,
  )
  expect(served.err).not.toContain('adopt')
})
