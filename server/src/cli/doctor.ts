import { X509Certificate, randomBytes } from 'node:crypto'
import { access, constants, readFile, stat, statfs } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { engineName, listEngines } from '@groundstate/agent/engine/engine'
import { isolationProblem, sandboxProblem } from '@groundstate/agent/isolation/confinement'
import type pg from 'pg'
import { MIGRATIONS } from '../../migrations/list.ts'
import { agentDirectory } from '../agent-directory.ts'
import { checkStore, findRecordedStore, findStoreId, placeOf, configuredStore } from '../blobs/blob-store.ts'
import { type Config, isLoopbackHost } from '../config.ts'
import { connectDatabase } from '../db/connect.ts'
import { checkMigrations } from '../db/migrate.ts'
import { checkDirectory } from '../directory.ts'
import { INSTALLATION_HEADER, installationHeader } from '../installation.ts'
import { findSystemAccount } from '../postgres/account.ts'
import { findPackage } from '../postgres/binaries.ts'
import { hasDatabase } from '../postgres/directories.ts'
import { checkSecret, findMark } from '../secrets/mark.ts'
import { SECRET_BYTES, findSecret } from '../secrets/secret-file.ts'
import { createSecrets } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { loadTls } from '../tls/tls.ts'
import { openDatabase } from './database.ts'

type Result = { ok: boolean; found: string; advice?: string }
type Check = { name: string; run: (config: Config, database: Database) => Promise<Result> }

const MIN_FREE_BYTES = 1024 ** 3
const MAX_CLOCK_SKEW_MS = 2000

const CHECKS: readonly Check[] = [
  { name: 'node', run: async () => checkNode() },
  { name: 'engine', run: checkEngine },
  { name: 'isolation', run: checkIsolation },
  { name: 'sandbox', run: checkSandbox },
  { name: 'data directory', run: checkDataDirectory },
  { name: 'database', run: checkDatabase },
  { name: 'blobs', run: checkBlobs },
  { name: 'port', run: checkPort },
  { name: 'TLS', run: checkTls },
]

/**
 * Prints a line for each requirement of the server, with advice where it is not met. Returns 1 if any is not met. It only looks:
 * what a start would make is said, and not made. An embedded database that rests is started for the time of the look.
 */
export async function doctorCommand(config: Config): Promise<number> {
  await using database = lookAtDatabase(config)
  let failed = 0
  for (const check of CHECKS) {
    const result = await check.run(config, database).catch((error: unknown): Result => {
      if (!(error instanceof StartError))
        return {
          ok: false,
          found: error instanceof Error ? error.message : String(error),
          advice: 'see docs/OPERATIONS.md',
        }
      return { ok: false, found: error.reason, ...(error.advice !== undefined && { advice: error.advice }) }
    })
    if (!result.ok) failed += 1
    process.stdout.write(`${result.ok ? '✓' : '✗'} ${check.name.padEnd(12)} ${result.found}\n`)
    if (result.advice !== undefined) process.stdout.write(`${' '.repeat(15)}→ ${result.advice}\n`)
  }
  process.stdout.write(
    failed === 0 ? '\nEverything is in place.\n' : `\n${failed} of ${CHECKS.length} checks failed.\n`,
  )
  return failed === 0 ? 0 : 1
}

function checkNode(): Result {
  const ok = Number(process.versions.node.split('.', 1)[0]) >= 24
  return ok
    ? { ok, found: process.version }
    : { ok, found: process.version, advice: 'Node 24 or later is needed: run `npm ci`, which brings one' }
}

async function checkEngine({ agents, enginePath, engineDownloads }: Config): Promise<Result> {
  if (agents === 0) return { ok: true, found: 'no run executes here' }
  const engines = await listEngines({ enginePath, strict: false })
  const found = engines.map(({ product, version }) => `${engineName(product)} ${version}`).join(', ')
  if (enginePath !== undefined && !(await stat(enginePath).catch(() => undefined)))
    return {
      ok: false,
      found: `there is nothing at ${enginePath}; elsewhere: ${found || 'no engine'}`,
      advice: 'name a binary or a directory in GROUNDSTATE_ENGINE_PATH',
    }
  if (engines.length > 0) return { ok: true, found }
  if (engineDownloads) return { ok: true, found: 'none yet: they are downloaded as runs need them' }
  return {
    ok: false,
    found: `neither terraform nor tofu ${enginePath === undefined ? '' : `at ${enginePath} or `}on the PATH`,
    advice: 'install one of them, or name it in GROUNDSTATE_ENGINE_PATH; without it runs fail here',
  }
}

async function checkIsolation(config: Config): Promise<Result> {
  if (config.agents === 0) return { ok: true, found: 'no run executes here' }
  const { isolation, enginePath, firstRunUser } = config
  const problem =
    isolation === 'off'
      ? 'it is turned off'
      : await isolationProblem({ workDir: await agentDirectory(config), enginePath, firstRunUser })
  if (problem === undefined) return { ok: true, found: 'each run executes as a separate user' }
  return {
    ok: isolation !== 'user',
    found: `runs execute as the user of the server: ${problem}`,
    advice: 'see "Decide who may run code here" in docs/OPERATIONS.md',
  }
}

async function checkSandbox(config: Config): Promise<Result> {
  if (!config.sandbox || config.agents === 0) return { ok: true, found: 'not asked for' }
  const problem = await sandboxProblem()
  return problem === undefined ? { ok: true, found: 'bubblewrap works here' } : { ok: false, found: problem }
}

async function checkDataDirectory({ dataDir }: Config): Promise<Result> {
  const present = await checkDirectory(dataDir)
  const isThere = present === resolve(dataDir)
  await access(present, constants.W_OK).catch((cause: unknown) => {
    const advice = 'run this as the user that the server runs as, or choose another GROUNDSTATE_DATA_DIR'
    throw new StartError(`can't write to ${present}`, { cause, advice })
  })
  const { bavail, bsize } = await statfs(present)
  const free = bavail * bsize
  const found = `${dataDir}, ${isThere ? '' : 'not there yet: a start makes it, '}${(free / 1024 ** 3).toFixed(1)} GiB free`
  return free >= MIN_FREE_BYTES
    ? { ok: true, found }
    : { ok: false, found, advice: 'free some space: state and logs need at least 1 GiB' }
}

/** The configured database, opened by the first check that needs it. */
type Database = AsyncDisposable & {
  /** Undefined where no start has made an embedded one yet. */
  client: () => Promise<pg.Client | undefined>
}

function lookAtDatabase(config: Config): Database {
  const stack = new AsyncDisposableStack()
  let client: Promise<pg.Client | undefined> | undefined
  const open = async () => {
    if (config.databaseUrl === undefined && !(await hasDatabase(config.dataDir))) return undefined
    const { url } = stack.use(await openDatabase(config))
    return stack.adopt(await connectDatabase(url, 'groundstate-doctor'), (opened) => opened.end())
  }
  return { client: async () => (client ??= open()), [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** The names of the migrations that the database has; undefined before the first start. */
async function listMigrations(client: pg.Client): Promise<string[] | undefined> {
  const { rows: tables } = await client.query(
    `select from pg_tables where tablename = 'schema_migrations' and schemaname = 'public'`,
  )
  if (tables.length === 0) return undefined
  const { rows } = await client.query<{ name: string }>('select name from schema_migrations')
  return rows.map(({ name }) => name)
}

async function checkDatabase(config: Config, database: Database): Promise<Result> {
  const client = await database.client()
  if (client === undefined) {
    await findSystemAccount()
    findPackage(`${process.platform}-${process.arch}`)
    return { ok: true, found: 'none yet: a start makes an embedded PostgreSQL' }
  }
  const before = Date.now()
  const { rows } = await client.query<{ version: number; clock: Date }>(
    `select current_setting('server_version_num')::int as version, clock_timestamp() as clock`,
  )
  const { version = 0, clock = new Date(0) } = rows[0] ?? {}
  const skew = Math.round(Math.abs(clock.getTime() - (before + Date.now()) / 2))
  const found = `PostgreSQL ${Math.floor(version / 10_000)}${config.databaseUrl === undefined ? ', embedded' : ''}, clock off by ${skew} ms`
  if (version < 150_000) return { ok: false, found, advice: 'PostgreSQL 15 or later is needed' }
  if (skew > MAX_CLOCK_SKEW_MS)
    return { ok: false, found, advice: 'synchronise the clocks of this machine and the database, with NTP' }
  const done = await listMigrations(client)
  if (done === undefined) return { ok: true, found: `${found}, not migrated yet` }
  checkMigrations(done)
  const mark = done.length === MIGRATIONS.length ? await findMark(client) : undefined
  if (mark !== undefined) await checkSecret(mark, config)
  return { ok: true, found: `${found}, ${done.length} of ${MIGRATIONS.length} migrations` }
}

async function checkBlobs(config: Config, database: Database): Promise<Result> {
  const store = configuredStore(config)
  const here = placeOf(store)
  const client = await database.client().catch(() => 'unknown' as const)
  if (client === 'unknown') return { ok: true, found: `${here}, not compared with the database` }
  const secret = await findSecret(config.dataDir, config.secret)
  // With any other secret a store is that of others.
  const found = await findStoreId(store, createSecrets(secret ?? randomBytes(SECRET_BYTES)))
  const done = client && (await listMigrations(client))
  const isMigrated = client !== undefined && done?.length === MIGRATIONS.length
  const isNew = done === undefined || (isMigrated && (await findMark(client)) === undefined)
  checkStore(isMigrated ? await findRecordedStore(client) : undefined, found, { store, isNew })
  return { ok: true, found: found === undefined ? `${here}, empty` : here }
}

async function checkPort(config: Config): Promise<Result> {
  const address = `${config.host}:${config.port}`
  if (config.port === 0) return { ok: true, found: 'a free one is picked' }
  const taken = await new Promise<boolean>((resolve) => {
    const socket = connect({ host: config.host, port: config.port, timeout: 2000 })
    socket
      .once('connect', () => resolve(true))
      .once('error', () => resolve(false))
      .once('timeout', () => resolve(false))
    socket.once('connect', () => socket.destroy()).once('timeout', () => socket.destroy())
  })
  if (!taken) return { ok: true, found: `${address} is free` }
  const installation = await installationAt(config)
  const secret = await findSecret(config.dataDir, config.secret)
  if (secret !== undefined && installation === installationHeader(createSecrets(secret))[INSTALLATION_HEADER])
    return { ok: true, found: `${address}, where Groundstate is running` }
  const other = installation === undefined ? 'another program' : 'the Groundstate of another data directory'
  return {
    ok: false,
    found: `${address} is taken by ${other}`,
    advice: 'stop it, or choose another GROUNDSTATE_PORT',
  }
}

/**
 * Which installation the Groundstate server at the port is of; undefined where none answers. Its certificate is not verified, since
 * nothing secret is sent.
 */
async function installationAt({ tls, host, port }: Config) {
  return new Promise<string | undefined>((resolve) => {
    const options = { host, port, path: '/api/v2/ping', rejectUnauthorized: false, timeout: 2000, agent: false }
    const ping = (tls === 'off' ? httpRequest(options) : httpsRequest(options))
      .once('response', (response) => {
        const isGroundstate = response.headers['tfp-appname'] === 'Groundstate'
        resolve(isGroundstate ? String(response.headers[INSTALLATION_HEADER] ?? '') : undefined)
        response.destroy()
      })
      .once('error', () => resolve(undefined))
      .once('timeout', () => ping.destroy(new Error('no response')))
    ping.end()
  })
}

async function checkTls(config: Config): Promise<Result> {
  // Loading those of the local authority would make them, or renew them.
  if (config.tls === 'auto') return checkLocalAuthority(config)
  const tls = await loadTls(config)
  if (!tls) {
    const found = 'off'
    return isLoopbackHost(config.host)
      ? { ok: true, found }
      : { ok: true, found, advice: 'beyond this machine, put a TLS proxy in front or set GROUNDSTATE_TLS' }
  }
  const { found, days } = describeCertificate(tls.cert)
  return days > 7 ? { ok: true, found } : { ok: false, found, advice: 'renew the certificate' }
}

async function checkLocalAuthority({ dataDir }: Config): Promise<Result> {
  const directory = join(dataDir, 'tls')
  const pem = await readFile(join(directory, 'server.pem'), 'utf8').catch(() => undefined)
  if (pem === undefined) return { ok: true, found: `none yet: a start makes a local authority in ${directory}` }
  return { ok: true, found: `${describeCertificate(pem).found}; a start renews it in time` }
}

function describeCertificate(pem: string) {
  const certificate = new X509Certificate(pem)
  const days = Math.floor((new Date(certificate.validTo).getTime() - Date.now()) / 86_400_000)
  return { days, found: `${certificate.subjectAltName ?? certificate.subject}, ${days} days left` }
}
