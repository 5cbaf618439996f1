import { X509Certificate, randomBytes } from 'node:crypto'
import { access, constants, readFile, stat, statfs } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { engineName, listEngines } from '@groundstate/agent/engine/engine'
import {
  isolationProblem,
  requireHooks,
  requireMirrors,
  sandboxProblem,
} from '@groundstate/agent/isolation/confinement'
import { reasonOf } from '@groundstate/agent/process/errors'
import type pg from 'pg'
import { MIGRATIONS } from '../../migrations/list.ts'
import { agentDirectory } from '../agent-directory.ts'
import { requireNoRestore } from '../backup/restore.ts'
import { checkStore, findMove, findRecordedStore, findStoreId, placeOf, configuredStore } from '../blobs/blob-store.ts'
import { type Config, isLoopbackHost } from '../config.ts'
import { connectDatabase, securityOf } from '../db/connect.ts'
import { type AppliedMigration, checkMigrations, listApplied } from '../db/migrate.ts'
import { checkDirectory, requireUser } from '../directory.ts'
import { codeOf, messageOf } from '../error-code.ts'
import { INSTALLATION_HEADER, isSameInstallation } from '../installation.ts'
import { findSystemAccount } from '../postgres/account.ts'
import { findPackage } from '../postgres/binaries.ts'
import { hasDatabase } from '../postgres/directories.ts'
import { checkSecrets, findMarks } from '../secrets/mark.ts'
import { SECRET_BYTES, findSecrets } from '../secrets/secret-file.ts'
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
  { name: 'providers', run: checkProviders },
  { name: 'hooks', run: checkHooks },
  { name: 'isolation', run: checkIsolation },
  { name: 'sandbox', run: checkSandbox },
  { name: 'data directory', run: checkDataDirectory },
  { name: 'database', run: checkDatabase },
  { name: 'blobs', run: checkBlobs },
  { name: 'port', run: checkPort },
  { name: 'TLS', run: checkTls },
]
const NAME_WIDTH = Math.max(...CHECKS.map(({ name }) => name.length))

/**
 * Prints a line for each requirement of the server, with advice if it is not met. Returns 1 if any is not met; with a bundle 0 once that is written,
 * as it is needed most when some are not. Read-only, except that an embedded database is started temporarily.
 */
export async function doctorCommand(config: Config, { bundle }: { bundle?: string } = {}): Promise<number> {
  const support = bundle === undefined ? undefined : { file: bundle, ...(await import('./support-bundle.ts')) }
  await support?.requireNewFile(support.file)
  await using database = lazyDatabase(config)
  let failed = 0
  let report = ''
  const print = (text: string) => {
    report += text
    process.stdout.write(text)
  }
  for (const check of CHECKS) {
    const result = await check.run(config, database).catch((error: unknown): Result => {
      if (error instanceof StartError) return failure(error.reason, error.advice)
      return failure(messageOf(error), 'see /docs/operations of a server')
    })
    if (!result.ok) failed += 1
    print(`${result.ok ? '✓' : '✗'} ${check.name.padEnd(NAME_WIDTH)} ${result.found}\n`)
    if (result.advice !== undefined) print(`${' '.repeat(NAME_WIDTH + 3)}→ ${result.advice}\n`)
  }
  print(failed === 0 ? '\nAll checks passed.\n' : `\n${failed} of ${CHECKS.length} checks failed.\n`)
  if (support !== undefined) {
    let databaseProblem: string | undefined
    const client = await database.client().catch((error: unknown) => {
      databaseProblem = messageOf(error)
      return undefined
    })
    await support.writeSupportBundle(config, support.file, {
      report,
      client,
      databaseProblem,
      isServerRunning: await isOwn(await installationAt(config), config),
    })
    process.stdout.write(`\nWrote ${support.file}, which has no secrets. Look through it before you pass it on.\n`)
    return 0
  }
  return failed === 0 ? 0 : 1
}

function success(found: string): Result {
  return { ok: true, found }
}

function failure(found: string, advice?: string): Result {
  return { ok: false, found, ...(advice !== undefined && { advice }) }
}

function checkNode(): Result {
  const isSupported = Number(process.versions.node.split('.', 1)[0]) >= 24
  if (isSupported) return success(process.version)
  return failure(process.version, 'Node 24 or later is required: run `npm ci`, which installs it')
}

async function checkEngine({ agents, enginePath, engineDownloads }: Config): Promise<Result> {
  if (agents === 0) return success(NO_AGENT)
  const engines = await listEngines({ enginePath, strict: false })
  const found = engines.map(({ product, version }) => `${engineName(product)} ${version}`).join(', ')
  if (enginePath !== undefined && !(await stat(enginePath).catch(() => undefined))) {
    const elsewhere = `${enginePath} does not exist; elsewhere: ${found || 'no engine'}`
    return failure(elsewhere, 'set GROUNDSTATE_ENGINE_PATH to a binary or a directory')
  }
  if (engines.length > 0) return success(found)
  if (engineDownloads) return success('none yet: they are downloaded as runs need them')
  return failure(
    `neither terraform nor tofu ${enginePath === undefined ? '' : `at ${enginePath} or `}on the PATH`,
    'install one of them, or set GROUNDSTATE_ENGINE_PATH; otherwise runs fail',
  )
}

const NO_AGENT = 'not needed without the built-in agent'

async function checkProviders({ agents, isolation, providerMirror = ['direct'] }: Config): Promise<Result> {
  if (agents === 0) return success(NO_AGENT)
  const hasRunUsers = isolation !== 'off' && process.geteuid?.() === 0
  try {
    await requireMirrors({ providerMirrors: providerMirror }, { hasRunUsers })
  } catch (error) {
    return failure(messageOf(error), 'see "Provider mirrors" at /docs/run-an-agent of a server')
  }
  return success(providerMirror.map((source) => (source === 'direct' ? 'their registries' : source)).join(', '))
}

async function checkHooks({ agents, hooks }: Config): Promise<Result> {
  if (agents === 0) return success(NO_AGENT)
  try {
    await requireHooks({ hooks })
  } catch (error) {
    return failure(messageOf(error), 'create the directory, or unset it: without it the built-in agent does not start')
  }
  return success(hooks ?? 'none')
}

async function checkIsolation(config: Config): Promise<Result> {
  if (config.agents === 0) return success(NO_AGENT)
  const { isolation, enginePath, firstRunUser } = config
  const problem =
    isolation === 'off'
      ? 'it is turned off'
      : await isolationProblem({ workDir: await agentDirectory(config), enginePath, firstRunUser })
  if (problem === undefined) return success('each run executes as a dedicated user')
  const result = failure(
    `runs execute as the user of the server: ${problem}`,
    'see "Decide who may run code here" at /docs/operations of a server',
  )
  return { ...result, ok: isolation !== 'user' }
}

async function checkSandbox(config: Config): Promise<Result> {
  if (!config.sandbox || config.agents === 0) return success('not enabled')
  const problem = await sandboxProblem()
  return problem === undefined ? success('bubblewrap works') : failure(problem)
}

async function checkDataDirectory({ dataDir }: Config): Promise<Result> {
  await requireUser(dataDir, { acceptsNew: true })
  const present = await checkDirectory(dataDir)
  await access(present, constants.W_OK).catch((cause: unknown) => {
    const remedy = codeOf(cause) === 'EROFS' ? '' : 'run this as the user that the server runs as, or '
    const advice = `${remedy}choose another GROUNDSTATE_DATA_DIR`
    throw new StartError(`can't write to ${present}: ${reasonOf(cause)}`, { cause, advice })
  })
  const { bavail, bsize } = await statfs(present)
  const free = bavail * bsize
  const created = present === resolve(dataDir) ? '' : 'created at the first start, '
  const found = `${dataDir}, ${created}${(free / 1024 ** 3).toFixed(1)} GiB free`
  if (free >= MIN_FREE_BYTES) return success(found)
  return failure(found, 'free some space: state and logs need at least 1 GiB')
}

/** The configured database, opened by the first check that needs it; `client` resolves to undefined before an embedded one was created. */
type Database = AsyncDisposable & { client: () => Promise<pg.Client | undefined> }

function lazyDatabase(config: Config): Database {
  const stack = new AsyncDisposableStack()
  let client: Promise<pg.Client | undefined> | undefined
  const open = async () => {
    await requireNoRestore(config.dataDir)
    if (config.databaseUrl === undefined && !(await hasDatabase(config.dataDir))) return undefined
    const { url } = stack.use(await openDatabase(config))
    return stack.adopt(await connectDatabase(url, 'groundstate-doctor'), (opened) => opened.end())
  }
  return { client: async () => (client ??= open()), [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

/** The applied migrations; undefined before the first start. */
async function findMigrations(client: pg.Client): Promise<AppliedMigration[] | undefined> {
  const { rows: tables } = await client.query(
    `select from pg_tables where tablename = 'schema_migrations' and schemaname = 'public'`,
  )
  return tables.length === 0 ? undefined : listApplied(client)
}

/** Whether a database has all migrations of this version. */
function isMigratedBy(done: readonly AppliedMigration[] | undefined) {
  const names = new Set(done?.map(({ name }) => name))
  return MIGRATIONS.every(({ name }) => names.has(name))
}

async function checkDatabase(config: Config, database: Database): Promise<Result> {
  const client = await database.client()
  if (client === undefined) {
    await findSystemAccount()
    findPackage(`${process.platform}-${process.arch}`)
    return success('embedded PostgreSQL, created at the first start')
  }
  const before = Date.now()
  const { rows } = await client.query<{ version: number; clock: Date }>(
    `select current_setting('server_version_num')::int as version, clock_timestamp() as clock`,
  )
  const { version = 0, clock = new Date(0) } = rows[0] ?? {}
  const skew = Math.round(Math.abs(clock.getTime() - (before + Date.now()) / 2))
  const facts = [
    `PostgreSQL ${Math.floor(version / 10_000)}`,
    config.databaseUrl === undefined ? 'embedded' : securityOf(client),
    `clock off by ${skew} ms`,
  ]
  const found = facts.filter((fact) => fact !== undefined).join(', ')
  if (version < 150_000) return failure(found, 'PostgreSQL 15 or later is required')
  if (skew > MAX_CLOCK_SKEW_MS)
    return failure(found, 'synchronise the clocks of this machine and the database with NTP')
  const done = await findMigrations(client)
  if (done === undefined) return success(`${found}, not migrated yet`)
  checkMigrations(done)
  const marks = isMigratedBy(done) ? await findMarks(client) : undefined
  if (marks !== undefined) await checkSecrets(marks, config)
  const own = done.filter(({ name }) => MIGRATIONS.some((migration) => migration.name === name)).length
  const newer = done.length === own ? '' : `, and ${done.length - own} of a newer version`
  return success(`${found}, ${own} of ${MIGRATIONS.length} migrations${newer}`)
}

async function checkBlobs(config: Config, database: Database): Promise<Result> {
  const store = configuredStore(config)
  const here = placeOf(store)
  if (store.kind === 'disk') await checkDirectory(store.root)
  const client = await database.client().catch(() => 'unknown' as const)
  if (client === 'unknown') return success(`${here}, not compared with the database`)
  // Without a secret, no existing store can be ours.
  const secrets = (await findSecrets(config)) ?? { current: randomBytes(SECRET_BYTES), previous: [] }
  const actual = await findStoreId(store, createSecrets(secrets))
  const done = client && (await findMigrations(client))
  const isMigrated = client !== undefined && isMigratedBy(done)
  const isNew = done === undefined || (isMigrated && (await findMarks(client)) === undefined)
  const move = await findMove(store, createSecrets(secrets))
  checkStore(isMigrated ? await findRecordedStore(client) : undefined, actual, { store, isNew, move })
  const identity = store.kind === 's3' ? `, with ${store.credentials.name}` : ''
  return success(`${here}${identity}${actual === undefined ? ', empty' : ''}`)
}

async function checkPort(config: Config): Promise<Result> {
  const address = `${config.host}:${config.port}`
  if (config.port === 0) return success('a free port is used')
  const isInUse = await new Promise<boolean>((resolve) => {
    const socket = connect({ host: config.host, port: config.port, timeout: 2000 })
    const finish = (connected: boolean) => {
      resolve(connected)
      socket.destroy()
    }
    socket
      .once('connect', () => finish(true))
      .once('error', () => finish(false))
      .once('timeout', () => finish(false))
  })
  if (!isInUse) return success(`${address} is free`)
  const installation = await installationAt(config)
  if (await isOwn(installation, config)) return success(`${address}, on which Groundstate is running`)
  const other = installation === undefined ? 'another program' : 'the Groundstate of another data directory'
  return failure(`${address} is in use by ${other}`, 'stop it, or choose another GROUNDSTATE_PORT')
}

/** Whether the installation that a server at the port has named has the secret of these settings. */
async function isOwn(installation: string | undefined, config: Config) {
  const secrets = installation === undefined ? undefined : await findSecrets(config)
  return secrets !== undefined && isSameInstallation(createSecrets(secrets), installation ?? '')
}

/** Identifies the installation of a Groundstate server at the port; undefined if there is none. The certificate is not verified, since nothing secret is sent. */
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
  // Loading certificates of the local authority would create or renew them.
  if (config.tls === 'auto') return checkLocalAuthority(config)
  const tls = await loadTls(config)
  if (!tls) {
    if (isLoopbackHost(config.host)) return success('off')
    return { ...success('off'), advice: 'for access from other machines, use a TLS proxy or set GROUNDSTATE_TLS' }
  }
  const { found, days } = describeCertificate(tls.cert)
  return days > 7 ? success(found) : failure(found, 'renew the certificate')
}

async function checkLocalAuthority({ dataDir }: Config): Promise<Result> {
  const directory = join(dataDir, 'tls')
  const pem = await readFile(join(directory, 'server.pem'), 'utf8').catch(() => undefined)
  if (pem === undefined) return success(`local authority, created in ${directory} at the first start`)
  return success(`${describeCertificate(pem).found}; renewed automatically at a start`)
}

function describeCertificate(pem: string) {
  const certificate = new X509Certificate(pem)
  const days = Math.floor((new Date(certificate.validTo).getTime() - Date.now()) / 86_400_000)
  return { days, found: `${certificate.subjectAltName ?? certificate.subject}, ${days} days left` }
}
