import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { localCertificate } from '../server/src/tls/authority.ts'
import { bootDatabase } from './replicas/database.ts'
import { type BootedServer, bootServer } from './server.ts'

const PROGRAM = join(import.meta.dirname, '../server/bin/groundstate')

let directory: string
let port: number
/** PEM files of the authority that issued the certificate for localhost and 127.0.0.1, and of another one. */
let authority: string
let otherAuthority: string
/** Of a client certificate of the other authority. */
let clientFiles: { sslcert: string; sslkey: string }
let server: BootedServer

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gs-database-tls-'))
  atEnd(() => rm(directory, { recursive: true, force: true }))
  await chmod(directory, 0o755)
  const { cert, key, caFile = '' } = await localCertificate(join(directory, 'tls'), [])
  authority = caFile
  const other = await localCertificate(join(directory, 'other'), [])
  otherAuthority = other.caFile ?? ''
  clientFiles = { sslcert: join(directory, 'client.crt'), sslkey: join(directory, 'client.key') }
  await writeFile(clientFiles.sslcert, other.cert)
  await writeFile(clientFiles.sslkey, other.key)
  const settings = { ssl: 'on', ssl_ca_file: 'root.crt', listen_addresses: '127.0.0.1,127.0.0.2' }
  const files = { 'server.crt': cert, 'server.key': key, 'root.crt': await readFile(authority, 'utf8') }
  ;({ port } = await bootDatabase(directory, { settings, files }))
  server = await bootServer({
    GROUNDSTATE_DATABASE_URL: address({ sslmode: 'verify-full', sslrootcert: authority }),
    GROUNDSTATE_DATABASE_DIRECT_URL: address({ sslmode: 'verify-ca', sslrootcert: authority }, '127.0.0.2'),
    GROUNDSTATE_DATA_DIR: join(directory, 'data'),
    GROUNDSTATE_AGENTS: '0',
  })
}, 60_000)

function address(parameters: Record<string, string>, host = '127.0.0.1') {
  return `postgresql://groundstate@${host}:${port}/groundstate?${new URLSearchParams(parameters).toString()}`
}

async function doctor(url: string) {
  const env = {
    PATH: process.env['PATH'],
    GROUNDSTATE_DATABASE_URL: url,
    GROUNDSTATE_DATA_DIR: join(directory, 'data'),
  }
  return new Promise<string>((resolve) => {
    execFile(PROGRAM, ['doctor'], { env }, (_, out, err) => resolve(`${out}${err}`))
  })
}

test('with the right authority, every connection of a server is encrypted', async () => {
  await server.api('GET', '/organizations')

  const client = new pg.Client({ host: '127.0.0.1', port, user: 'groundstate', database: 'groundstate' })
  await client.connect()
  const { rows } = await client.query<{ ssl: boolean; client: string }>(
    `select distinct ssl, split_part(application_name, ' ', 1) as client
       from pg_stat_ssl join pg_stat_activity using (pid)
       where datname = 'groundstate' and pid <> pg_backend_pid() and backend_type = 'client backend'`,
  )
  await client.end()
  expect(rows.length).toBeGreaterThan(1)
  expect(rows.every(({ ssl }) => ssl)).toBe(true)
  expect(server.output()).not.toMatch(/warning/i)
}, 60_000)

test.each([
  ['no parameter', '127.0.0.1', () => ({}), 'not encrypted'],
  ['disable', '127.0.0.1', () => ({ sslmode: 'disable' }), 'not encrypted'],
  ['require', '127.0.0.1', () => ({ sslmode: 'require' }), 'TLSv1.3, certificate not verified'],
  [
    'verify-ca, whatever the host',
    '127.0.0.2',
    () => ({ sslmode: 'verify-ca', sslrootcert: authority }),
    'TLSv1.3, certificate verified for any host',
  ],
  [
    'verify-full by name',
    'localhost',
    () => ({ sslmode: 'verify-full', sslrootcert: authority }),
    'TLSv1.3, certificate verified',
  ],
  ['an authority alone', 'localhost', () => ({ sslrootcert: authority }), 'TLSv1.3, certificate verified'],
])('doctor says how its connection is secured with %s', async (_, host, parameters, security) => {
  const out = await doctor(address(parameters(), host))

  expect(out).toMatch(new RegExp(`✓ database +PostgreSQL \\d+, ${security}, clock`))
  expect(out).not.toMatch(/warning/i)
})

test.each([
  ['another authority', '127.0.0.1', () => otherAuthority, /no trusted authority[^\n]*\n +→ set sslrootcert in/],
  [
    'another host',
    '127.0.0.2',
    () => authority,
    /its certificate is for localhost, [^\n]*127\.0\.0\.1[^\n]*, not for 127\.0\.0\.2\n +→ connect to a name/,
  ],
  ['only public authorities', '127.0.0.1', () => 'system', /no trusted authority[^\n]*\n +→ set sslrootcert in/],
])('doctor names the problem of a certificate with %s', async (_, host, file, problem) => {
  const out = await doctor(address({ sslmode: 'verify-full', sslrootcert: file() }, host))

  expect(out).toMatch(/✗ database +can't use the database/)
  expect(out).toMatch(problem)
  expect(out).not.toContain('Node.js')
})

test('doctor says that the database rejects the client certificate', async () => {
  const out = await doctor(address({ sslmode: 'verify-full', sslrootcert: authority, ...clientFiles }))

  expect(out).toMatch(
    /✗ database +can't use the database [^\n]+: it rejects the client certificate \(tlsv1 alert unknown ca\)\n +→ set sslcert and sslkey in/,
  )
})
