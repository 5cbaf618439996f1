import { mkdir, mkdtemp, open, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { reasonOf } from '@groundstate/agent/process/errors'
import { variablesOf } from '@groundstate/agent/settings/setting'
import type pg from 'pg'
import { create } from 'tar'
import manifest from '../../package.json' with { type: 'json' }
import type { Config } from '../config.ts'
import { codeOf, messageOf } from '../error-code.ts'
import { findSecrets } from '../secrets/secret-file.ts'
import { SETTINGS } from '../settings.ts'
import { StartError } from '../start-error.ts'

/** Time that the running server may take for its metrics, in ms. */
const METRICS_TIMEOUT_MS = 5000
/** Size of the last part of a log, in bytes. */
const LOG_BYTES = 256 * 1024
const HIDDEN = '[redacted]'

type Parts = {
  report: string
  client: pg.Client | undefined
  databaseProblem: string | undefined
  /** Whether a server of this installation responds at the port: another program there must not get the token for metrics. */
  isServerRunning: boolean
}

/**
 * Writes a .tar.gz for support: facts about the server, without secrets, states, values of variables and URLs. Throws a `StartError` if the file
 * exists or cannot be written.
 */
export async function writeSupportBundle(config: Config, file: string, parts: Parts) {
  // Reserved first, so that nothing is overwritten.
  const target = await createFile(file)
  const directory = await mkdtemp(join(tmpdir(), 'groundstate-bundle-'))
  try {
    const scrub = await scrubber(config)
    const root = join(directory, 'groundstate')
    await mkdir(root)
    const files = { ...(await facts(config, parts)), 'doctor.txt': parts.report }
    for (const [name, content] of Object.entries(files)) await writeFile(join(root, name), scrub(content))
    await pipeline(create({ gzip: true, cwd: directory, portable: true }, ['groundstate']), target.createWriteStream())
  } catch (error) {
    await target.close().catch(() => {})
    await rm(file, { force: true })
    throw error
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

const REFUSALS: Readonly<Record<string, { reason: string; advice: string }>> = {
  EEXIST: { reason: 'it exists', advice: 'choose another name, or remove it' },
  ENOENT: { reason: 'its directory does not exist', advice: 'create it, or choose another place' },
}

async function createFile(file: string) {
  return open(file, 'wx', 0o600).catch((cause: unknown) => {
    const { reason, advice } = REFUSALS[codeOf(cause) ?? ''] ?? {
      reason: reasonOf(cause),
      advice: 'choose another place',
    }
    throw new StartError(`can't create ${file}: ${reason}`, { cause, advice })
  })
}

/** Throws as `writeSupportBundle` would for a file that it cannot create. An interruption before the bundle is written leaves no file. */
export async function requireNewFile(file: string) {
  const target = await createFile(file)
  await target.close()
  await rm(file)
}

async function facts(
  config: Config,
  { client, databaseProblem, isServerRunning }: Parts,
): Promise<Record<string, string>> {
  const database = client ? await describeDatabase(client) : { problem: databaseProblem ?? 'there is none yet' }
  const log = await lastLinesOfDatabase(join(config.dataDir, 'postgres.log'))
  return {
    'version.json': json({
      version: manifest.version,
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      writtenAt: new Date(),
    }),
    'settings.json': json(shownSettings(config)),
    'database.json': json(database),
    'disk.json': json(await describeDisk(config.dataDir)),
    'metrics.txt': isServerRunning ? await readMetrics(config) : 'no server of this installation is running here\n',
    ...(log !== undefined && { 'postgres.log': log }),
  }
}

function json(value: unknown) {
  return `${JSON.stringify(value, null, 2)}\n`
}

/** Settings by variable. Of a secret only that it is set, and of an address only its origin. */
function shownSettings(config: Config) {
  const settings = Object.entries(SETTINGS).map(([name, setting]) => {
    const value: unknown = config[name as keyof Config]
    const [variable = name] = variablesOf(name, setting)
    if (value === undefined) return [variable, null]
    if ('secret' in setting && setting.secret) return [variable, '(set)']
    return [variable, shownValue(value)]
  })
  return Object.fromEntries(settings) as Record<string, unknown>
}

function shownValue(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  if (Array.isArray(value)) return value.map(shownValue)
  if (typeof value !== 'string' && !(value instanceof URL)) return '(set)'
  const text = String(value)
  const url = /^[a-z+]+:\/\//i.test(text) ? URL.parse(text) : null
  return url ? `${url.protocol}//${url.host}` : text
}

const QUERIES = {
  version: 'select version()',
  migrations: 'select name from schema_migrations order by name',
  settings: `select name, setting, unit from pg_settings where name = any(array['max_connections', 'shared_buffers', 'work_mem',
    'maintenance_work_mem', 'effective_cache_size', 'wal_level', 'max_wal_size', 'synchronous_commit', 'fsync', 'full_page_writes', 'autovacuum',
    'jit', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'server_encoding', 'TimeZone'])`,
  size: 'select pg_database_size(current_database()) as bytes',
  tables: `select schemaname || '.' || relname as name, pg_total_relation_size(relid) as bytes, n_live_tup as rows, n_dead_tup as dead,
    last_autovacuum, last_autoanalyze from pg_stat_user_tables order by 2 desc limit 200`,
  sessions: `select application_name, state, wait_event_type, count(*), max(now() - xact_start)::text as longest from pg_stat_activity
    where datname = current_database() group by 1, 2, 3 order by 4 desc limit 100`,
  locks: 'select locktype, mode, granted, count(*) from pg_locks group by 1, 2, 3 order by 4 desc limit 100',
  runs: `select status, count(*) from (select status from runs order by seq desc limit 100000) r group by 1`,
  agentJobs: `select status, kind, count(*), min(queued_at) as oldest from agent_jobs where status <> 'ended' group by 1, 2`,
  backgroundJobs: `select name, state, count(*), min(start_after) as first from pgboss.job where state <> 'completed' group by 1, 2`,
} as const

/** Counts and sizes: no contents of rows, and no texts of statements, which may have values. */
async function describeDatabase(client: pg.Client) {
  const described: Record<string, unknown> = {}
  for (const [name, query] of Object.entries(QUERIES)) {
    described[name] = await client.query(query).then(
      ({ rows }) => rows as unknown,
      (error: unknown) => ({ problem: messageOf(error) }),
    )
  }
  return described
}

async function describeDisk(path: string) {
  try {
    const { blocks, bavail, bsize, files, ffree } = await statfs(path)
    return { path, totalBytes: blocks * bsize, freeBytes: bavail * bsize, files, freeFiles: ffree }
  } catch (error) {
    return { path, problem: messageOf(error) }
  }
}

/** The metrics of the running server. */
async function readMetrics({ host, port, tls, baseUrl, metricsToken }: Config) {
  const own = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  const path = baseUrl === undefined ? '' : new URL(baseUrl).pathname.replace(/\/$/, '')
  const url = `${tls === 'off' ? 'http' : 'https'}://${own.includes(':') ? `[${own}]` : own}:${port}${path}/metrics`
  try {
    const response = await fetch(url, {
      headers: metricsToken === undefined ? {} : { authorization: `Bearer ${metricsToken}` },
      signal: AbortSignal.timeout(METRICS_TIMEOUT_MS),
    })
    const text = await response.text()
    return response.ok ? text : `the server responded with ${response.status}\n`
  } catch (error) {
    return `no server responds at ${url}: ${messageOf(error)}\n`
  }
}

/** Parts of messages of PostgreSQL that have statements and values of rows. */
const WITH_VALUES = /\b(?:DETAIL|STATEMENT|QUERY|CONTEXT|HINT|PARAMETERS):/

/** The last lines of the embedded database's log, without quoted values. Undefined without a log. */
async function lastLinesOfDatabase(path: string) {
  const size = (await stat(path).catch(() => undefined))?.size
  if (size === undefined) return undefined
  await using file = await open(path, 'r')
  const buffer = Buffer.alloc(Math.min(size, LOG_BYTES))
  const { bytesRead } = await file.read(buffer, 0, buffer.length, size - buffer.length)
  const lines = buffer.subarray(0, bytesRead).toString().split('\n')
  // Statements continue on lines that begin with a tab. The first line may be cut.
  const kept = lines.slice(size > LOG_BYTES ? 1 : 0).filter((line) => !line.startsWith('\t') && !WITH_VALUES.test(line))
  return kept.map((line) => line.replaceAll(/"[^"]*"|'[^']*'/g, '"…"')).join('\n')
}

/** Replaces what is or looks like a credential, in case it has got into a message. */
async function scrubber(config: Config) {
  const found = await findSecrets(config).catch(() => undefined)
  const values = Object.entries(SETTINGS).flatMap(([name, setting]) => {
    const value: unknown = config[name as keyof Config]
    const isSecret = 'secret' in setting && setting.secret
    return [value].flat().flatMap((part) => {
      const text = typeof part === 'string' || part instanceof URL ? String(part) : ''
      const url = URL.parse(text)
      const password = url ? [url.password, unescaped(url.password)] : []
      return [isSecret ? text : '', ...password]
    })
  })
  const keys = found ? [found.current, ...found.previous] : []
  const keyTexts = keys.flatMap((key) => [key.toString('hex'), key.toString('base64')])
  const secrets = [...values, ...keyTexts].filter((secret) => secret.length >= 4)
  return (content: string) =>
    secrets
      .toSorted((a, b) => b.length - a.length)
      .reduce((text, secret) => text.replaceAll(secret, HIDDEN), content)
      .replaceAll(/\/\/[^\s/@"']+@/g, `//${HIDDEN}@`)
      .replaceAll(/\b(Bearer|Basic) [^\s"',]+/gi, `$1 ${HIDDEN}`)
      .replaceAll(/\b\w+\.(?:gsv1|atlasv1)\.\w+/g, HIDDEN)
}

function unescaped(text: string) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
