import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { groundstate } from '../testing/command-line.ts'
import { createTestDatabase } from '../testing/database.ts'
import { listen } from '../testing/ports.ts'
import { createEmptySite } from './testing/empty-site.ts'

const { directory, empty } = await createEmptySite()

test('doctor rejects the secrets that serve rejects', async () => {
  const { code, err } = await groundstate('doctor', '--data-dir', directory, '--secret', 'short')

  expect(code).toBe(1)
  expect(err).toContain('--secret')
})

test('doctor advises on an unreachable database', async () => {
  const where = ['--data-dir', directory, '--port', '0', '--database-url', 'postgres://a:b@127.0.0.1:1/x']

  const { code, out } = await groundstate('doctor', ...where)

  expect(code).toBe(1)
  expect(out).toMatch(/✗ database +\S.*127\.0\.0\.1:1.*\n +→ .*GROUNDSTATE_DATABASE_URL/)
})

test('doctor names the cause for which a bucket cannot be reached', async () => {
  const site = ['--data-dir', directory, '--port', '0', '--database-url', empty.url, '--s3-bucket', 'b']
  const s3 = ['--s3-access-key-id', 'a', '--s3-secret-access-key', 's', '--s3-endpoint']
  await using plain = createServer()
  const port = await listen(plain)

  const closed = await groundstate('doctor', ...site, ...s3, 'http://127.0.0.1:2')
  const withoutTls = await groundstate('doctor', ...site, ...s3, `https://127.0.0.1:${port}`)

  expect(closed.out).toMatch(/✗ blobs +can't use [^\n]*: connection refused: [^\n]+\n +→ .*GROUNDSTATE_S3_…/)
  expect(withoutTls.out).toMatch(/✗ blobs +can't use [^\n]* does not use TLS [^\n]+ http URL [^\n]+\n +→ /)
})

test('doctor knows an interrupted restore', async () => {
  const interrupted = join(directory, 'interrupted')
  await mkdir(join(interrupted, 'restore.partial'), { recursive: true })

  const { code, out } = await groundstate('doctor', '--data-dir', interrupted, '--port', '0')

  expect(code).toBe(1)
  expect(out).toMatch(/✗ database +the restore into .* was interrupted\n +→ run `groundstate restore` again/)
  expect(out).toContain('not compared with the database')
})

test('doctor advises on a data directory that cannot be created', async () => {
  const { code, out } = await groundstate('doctor', '--data-dir', '/proc/groundstate', '--port', '0')

  expect(code).toBe(1)
  expect(out).toMatch(/✗ data directory +can't make the directory \/proc\/groundstate: .*\n +→ \S/)
  expect(out).toMatch(/✗ blobs +can't make the directory \/proc\/groundstate\/blobs: .*\n +→ .*GROUNDSTATE_DATA_DIR/)
  const starts = out.matchAll(/^(?:[✓✗] (?:node|data directory|database|port) +|\s+→ )/gm)
  expect(new Set(Array.from(starts, ([start]) => start.replace('→ ', '').length))).toEqual(new Set([17]))
})

test('doctor advises on missing TLS files and on a database of another version', async () => {
  await mkdir(join(directory, 'old/postgres/cluster'), { recursive: true })
  await writeFile(join(directory, 'old/postgres/cluster/PG_VERSION'), '9\n')
  const pem = ['--tls-cert', '/nowhere/cert.pem', '--tls-key', '/nowhere/key.pem']
  const where = ['--data-dir', join(directory, 'old'), '--port', '0']

  const { code, out } = await groundstate('doctor', ...where, '--tls', 'files', ...pem)

  expect(code).toBe(1)
  expect(out).toMatch(
    /✗ TLS +GROUNDSTATE_TLS_CERT \/nowhere\/cert\.pem: there is no such file or directory\n +→ it must be a readable PEM file/,
  )
  expect(out).toMatch(/✗ database +.*PostgreSQL 9.*\n +→ \S/)
})

test.each([
  ['::ffff:127.0.0.1', false],
  ['127.0.0.2', false],
  ['127.example.invalid', true],
  ['0.0.0.0', true],
])('doctor advises TLS if a server at %s is reachable from other hosts: %s', async (host, isAdvised) => {
  const where = ['--data-dir', directory, '--port', '0', '--database-url', 'postgres://a:b@127.0.0.1:1/x']

  const { out } = await groundstate('doctor', ...where, '--host', host)

  expect(/✓ TLS +off\n +→ for access from other machines/.test(out)).toBe(isAdvised)
})

test('doctor names the user of runs and the documentation', async () => {
  const where = ['--data-dir', directory, '--port', '0', '--database-url', empty.url]

  const { out } = await groundstate('doctor', ...where, '--isolation', 'off')

  expect(out).toContain('✓ isolation      runs execute as the user of the server: it is turned off\n')
  expect(out).toContain('→ see "Decide who may run code here" at /docs/operations of a server')
})

test.each([
  ['taken.tar.gz', 'it exists; choose another name, or remove it'],
  ['missing/b.tar.gz', 'its directory does not exist; create it, or choose another place'],
  ['taken.tar.gz/b.tar.gz', 'a part of the path is a file; choose another place'],
])('doctor refuses a bundle at %s before the checks', async (name, reason) => {
  const bundle = join(directory, name)
  await writeFile(join(directory, 'taken.tar.gz'), 'kept')

  const { code, out, err } = await groundstate('doctor', '--bundle', bundle, '--data-dir', directory, '--port', '0')

  expect({ code, out, err }).toEqual({
    code: 1,
    out: '',
    err: `groundstate: can't create ${bundle}: ${reason}\n`,
  })
  expect(await readFile(join(directory, 'taken.tar.gz'), 'utf8')).toBe('kept')
})

test('doctor fails when runs must have separate users and cannot', async () => {
  const where = ['--data-dir', directory, '--port', '0', '--database-url', empty.url]
  const closed = join(directory, 'closed')
  await mkdir(closed, { mode: 0o700 })

  const { code, out } = await groundstate('doctor', ...where, '--isolation', 'user', '--engine-path', closed)

  expect(code).toBe(1)
  expect(out).toContain('✗ isolation      runs execute as the user of the server: ')
})

test('doctor names the sources of providers, and a mirror that cannot be used', async () => {
  const where = ['--data-dir', directory, '--port', '0', '--database-url', empty.url, '--provider-mirror']

  const some = await groundstate('doctor', ...where, `https://mirror.example.com/providers,${directory},direct`)
  const missing = await groundstate('doctor', ...where, '/nowhere/providers')

  expect(some.out).toContain(`✓ providers      https://mirror.example.com/providers/, ${directory}, their registries\n`)
  expect(missing.code).toBe(1)
  expect(missing.out).toContain(
    '✗ providers      GROUNDSTATE_PROVIDER_MIRROR /nowhere/providers: there is no such file or directory\n' +
      '                 → see "Provider mirrors" at /docs/run-an-agent of a server\n',
  )
})

test('doctor checks the directory of hooks', async () => {
  const where = ['--data-dir', directory, '--port', '0', '--database-url', empty.url]

  const usable = await groundstate('doctor', ...where, '--hooks', directory)
  const missing = await groundstate('doctor', ...where, '--hooks', '/nowhere/hooks')

  expect(usable.out).toContain(`✓ hooks          ${directory}\n`)
  expect(missing.code).toBe(1)
  expect(missing.out).toContain(
    '✗ hooks          GROUNDSTATE_HOOKS /nowhere/hooks: there is no such file or directory\n' +
      '                 → create the directory, or unset it: without it the built-in agent does not start\n',
  )
})

test('doctor tests the sandbox if it is enabled', async () => {
  const where = ['--data-dir', directory, '--port', '0', '--database-url', empty.url]
  const path = process.env['PATH']
  vi.stubEnv('PATH', directory)

  const { code, out } = await groundstate('doctor', ...where, '--sandbox', 'true').finally(() =>
    vi.stubEnv('PATH', path),
  )

  expect(code).toBe(1)
  expect(out).toContain(
    '✗ sandbox        the sandbox needs the program bwrap, which is not on the PATH: install bubblewrap',
  )
})

test('doctor changes nothing in an empty directory, and reports the parts that a start would create', async () => {
  const where = join(directory, 'untouched')
  await mkdir(where)

  const doctor = await groundstate('doctor', '--data-dir', where, '--port', '0', '--tls', 'auto')
  const missing = await groundstate('doctor', '--data-dir', join(where, 'deep/inside'), '--port', '0')

  expect(doctor.out).toContain('✓ database       embedded PostgreSQL, created at the first start\n')
  expect(doctor.out).toContain('✓ TLS            local authority, created in ')
  expect(doctor.out).toMatch(/✓ blobs +the directory .*untouched\/blobs of .*, empty/)
  expect(missing.out).toMatch(/✓ data directory +.*deep\/inside, created at the first start/)
  expect(await readdir(where)).toEqual([])
})

test('doctor distinguishes its own server at the port from that of another directory', async () => {
  const app = await createTestApp()
  const { hostname, port } = new URL(await app.listen())
  const at = ['--host', hostname, '--port', port]
  await using database = await createTestDatabase()
  const other = ['--data-dir', join(directory, 'other'), '--database-url', database.url]
  await groundstate('blobs', 'adopt', ...other)

  const own = await groundstate('doctor', ...at, ...other, '--secret', '11'.repeat(32))
  const stranger = await groundstate('doctor', ...at, ...other)

  expect(own.out).toContain(`✓ port           ${hostname}:${port}, on which Groundstate is running\n`)
  expect(stranger.out).toContain(
    `✗ port           ${hostname}:${port} is in use by the Groundstate of another data directory\n`,
  )
  expect(stranger.code).toBe(1)
})
