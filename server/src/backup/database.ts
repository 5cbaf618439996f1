import { mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { connectDatabase } from '../db/connect.ts'
import { syncDirectory } from '../durable-file.ts'
import { codeOf, ignoring } from '../error-code.ts'
import { isConnectionLost } from '../postgres/owner.ts'
import { StartError } from '../start-error.ts'
import { SumsWriter } from './checksums.ts'
import { copyOpenFile, forEachFile, type Watch } from './copy.ts'
import { DATABASE, type Manifest, SUMS } from './manifest.ts'

/** Contents that PostgreSQL recreates, or that belong to the running one. The directories themselves must exist. */
const EMPTIED = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
])
const OMITTED = new Set(['postmaster.pid', 'postmaster.opts', 'pg_internal.init', 'backup_label', 'tablespace_map'])
/** Names the last checkpoint, so it is copied last. */
const CONTROL = 'global/pg_control'

type Files = { files: string[]; directories: string[]; bytes: number }

/** The files to copy of a cluster, relative to it, and its directories. Files come and go meanwhile, which recovery repeats. */
export async function listCluster(cluster: string): Promise<Files> {
  const found: Files = { files: [], directories: ['pg_wal'], bytes: 0 }
  const walk = async (relative: string) => {
    const entries = (await ignoring('ENOENT', readdir(join(cluster, relative), { withFileTypes: true }))) ?? []
    for (const entry of entries) {
      const path = relative === '' ? entry.name : `${relative}/${entry.name}`
      if (OMITTED.has(entry.name) || entry.name.startsWith('pgsql_tmp') || path === 'pg_wal') continue
      if (entry.isFile()) found.files.push(path)
      if (!entry.isDirectory()) continue
      found.directories.push(path)
      if (!EMPTIED.has(path)) await walk(path)
    }
  }
  await walk('')
  await forEachFile(found.files, async (path) => {
    const size = await sizeOf(join(cluster, path))
    found.bytes += size ?? 0
  })
  return found
}

async function sizeOf(path: string) {
  await using file = await ignoring('ENOENT', open(path, 'r'))
  return (await file?.stat())?.size
}

type Source = { url: string; cluster: string }

/**
 * Copies a running embedded database to `<target>/database` with PostgreSQL's low-level backup API. A temporary replication slot keeps the log that
 * the copy needs, and vanishes with the connection. Throws a `StartError` if the database is stopped meanwhile.
 */
export async function copyDatabase({ url, cluster }: Source, target: string, watch: Watch) {
  const copy = join(target, DATABASE)
  await mkdir(copy, { mode: 0o700 })
  await using sums = await SumsWriter.create(join(target, SUMS.database))
  const add = async (path: string) => {
    await using file = await ignoring('ENOENT', open(join(cluster, path), 'r'))
    if (!file) return false
    const { sha256, bytes } = await copyOpenFile(file, join(copy, path), watch)
    await sums.add({ sha256, path: `${DATABASE}/${path}` }, bytes)
    return true
  }

  const client = await connectDatabase(url, 'groundstate-backup')
  try {
    await createSlot(client)
    const start = await one<{ lsn: string }>(client, `select pg_backup_start('groundstate', true) as lsn`)
    // Recovery does not create files from before the start, so they are listed after it.
    const listed = await listCluster(cluster)
    for (const path of listed.directories) await mkdir(join(copy, path), { mode: 0o700 })
    await forEachFile(
      listed.files.filter((path) => path !== CONTROL),
      async (path) => void (await add(path)),
    )
    await add(CONTROL)
    const stop = await one<{ lsn: string; label: string }>(
      client,
      'select lsn, labelfile as label from pg_backup_stop(false)',
    )
    for (const name of await logSegments(client, start.lsn, stop.lsn)) {
      if (await add(`pg_wal/${name}`)) continue
      throw new StartError(`the segment ${name} of the database's log is missing`, { advice: 'run the backup again' })
    }
    await writeFile(join(copy, 'backup_label'), stop.label, { mode: 0o600, flush: true })
    await using label = await open(join(copy, 'backup_label'), 'r')
    const { sha256, bytes } = await copyOpenFile(label, undefined, watch)
    await sums.add({ sha256, path: `${DATABASE}/backup_label` }, bytes)
    for (const path of ['', ...listed.directories]) await syncDirectory(join(copy, path))
    const { major } = await one<{ major: string }>(
      client,
      `select (current_setting('server_version_num')::int / 10000)::text as major`,
    )
    return { ...(await sums.end()), postgres: major, directories: listed.directories }
  } catch (error) {
    if (error instanceof StartError || watch.signal.aborted || !isConnectionLost(error)) throw error
    throw new StartError('the database was stopped during the backup', { cause: error, advice: 'run it again' })
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function createSlot(client: pg.Client) {
  await client
    .query(`select pg_create_physical_replication_slot('groundstate_backup', true, true)`)
    .catch((error: unknown) => {
      if (codeOf(error) !== '42710') throw error
      throw new StartError('another backup of this database is running', { cause: error, advice: 'wait for it to end' })
    })
}

/** Names of the files of the write-ahead log from one position to another. */
async function logSegments(client: pg.Client, from: string, to: string) {
  const { rows } = await client.query<{ name: string }>(
    `select distinct pg_walfile_name(least($1::pg_lsn + n * size, $2::pg_lsn)) as name
     from (select pg_size_bytes(current_setting('wal_segment_size')) as size) as segment,
          generate_series(0, ceil(($2::pg_lsn - $1::pg_lsn) / size)) as n
     order by name`,
    [from, to],
  )
  return rows.map(({ name }) => name)
}

async function one<Row extends pg.QueryResultRow>(client: pg.Client, text: string): Promise<Row> {
  const { rows } = await client.query<Row>(text)
  const [row] = rows
  if (!row) throw new Error(`no row: ${text}`)
  return row
}

/** Facts for the manifest. Throws a `StartError` before the first start of a server. */
export async function describeDatabase(url: string): Promise<Pick<Manifest, 'secretMark' | 'store' | 'migrations'>> {
  const client = await connectDatabase(url, 'groundstate-backup')
  try {
    const { rows } = await client.query<{ exists: boolean }>(
      `select to_regclass('public.installation') is not null as exists`,
    )
    const found =
      rows[0]?.exists === true
        ? await client.query<{ mark: string; id: string | null; place: string | null; migrations: string[] }>(
            `select secret_mark as mark, blob_store_id as id, blob_store_place as place,
                    array(select name from schema_migrations order by name) as migrations
             from installation`,
          )
        : undefined
    const row = found?.rows[0]
    if (row?.id == null || row.place === null)
      throw new StartError('there is nothing to back up: no server has started with this database yet')
    return { secretMark: row.mark, store: { id: row.id, place: row.place }, migrations: row.migrations }
  } finally {
    await client.end()
  }
}
