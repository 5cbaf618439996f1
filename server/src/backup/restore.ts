import { chown, mkdir, opendir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { configuredStore } from '../blobs/blob-store.ts'
import type { Config } from '../config.ts'
import { checkMigrations } from '../db/migrate.ts'
import { exists, makeDataDirectory, requireOwner } from '../directory.ts'
import { createFileOnce, syncDirectory } from '../durable-file.ts'
import { codeOf, ignoring } from '../error-code.ts'
import { LEASE_ADVICE, takeLease, TIME_PREFIX } from '../file-lease.ts'
import { findSystemAccount, type SystemAccount } from '../postgres/account.ts'
import { bundledMajor } from '../postgres/binaries.ts'
import { type Directories, openDirectories, POINTER, readPointer } from '../postgres/directories.ts'
import { checkMark } from '../secrets/mark.ts'
import { StartError } from '../start-error.ts'
import { readSums, type SumsDigest } from './checksums.ts'
import { checkSpace, copyFile, forEachFile, type Watch } from './copy.ts'
import { BLOBS, DATABASE, KEYS, type Manifest, readManifest, SUMS } from './manifest.ts'

/** Directory in the data directory while a restore runs. With it, no server starts. */
const UNFINISHED = 'restore.partial'
/** File by which only one restore at a time uses the data directory. */
const LOCK = 'restore.lock'

/** Entries of a data directory that a restore leaves as they are. */
const KEPT = new Set(['secret', 'previous-secrets', 'tls', 'lost+found', UNFINISHED])

type Options = { source: string; watch: Watch & { total: (bytes: number) => void } }

/** Checks that a backup is complete and undamaged. Throws a `StartError` that names damaged, missing or additional files. */
export async function verifyBackup({ source, watch }: Options): Promise<Manifest> {
  const manifest = await readManifest(source)
  watch.total((manifest.database?.bytes ?? 0) + (manifest.blobs?.bytes ?? 0))
  for (const part of ['database', 'blobs'] as const) {
    const digest = manifest[part]
    if (!digest) continue
    await copyPart({ source, part, digest, watch })
    await requireNoOther(source, part, digest)
  }
  return manifest
}

/** Throws a `StartError` for files that the list of a part does not have. All that it has must exist. */
async function requireNoOther(source: string, part: Part['part'], { files }: SumsDigest) {
  const root = part === 'database' ? DATABASE : BLOBS
  const list = async () => opendir(join(source, root), { recursive: true })
  let present = 0
  for await (const entry of await list()) if (!entry.isDirectory()) present += 1
  if (present === files) return
  const listed = new Set<string>()
  for await (const { path } of readSums(join(source, SUMS[part]))) listed.add(join(source, path))
  const other: string[] = []
  for await (const entry of await list()) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isDirectory() && !listed.has(path)) other.push(path)
  }
  const [first, ...rest] = other.toSorted()
  if (first === undefined) return
  const more = rest.length > 0 ? `, nor are ${rest.length} others, such as ${rest.slice(0, 4).join(', ')}` : ''
  throw new StartError(`${first} is not part of the backup${more}`, { advice: 'delete what you have put there' })
}

/**
 * Restores a backup into the data directory, which must be empty but for the secret and TLS keys. Each file is verified while it is
 * copied. Throws a `StartError`. An interrupted restore can be repeated, and no server starts before it is complete.
 */
export async function restoreBackup(config: Config, { source, watch }: Options): Promise<Manifest> {
  const manifest = await readManifest(source)
  await checkTarget(config, manifest)
  const { dataDir } = config
  await makeDataDirectory(dataDir)
  await requireOwner(dataDir)
  await using lease = await takeLease(
    join(dataDir, LOCK),
    (owner) => new StartError(`another restore into ${dataDir} is running (${owner})`, { advice: LEASE_ADVICE }),
  )
  await requireEmpty(dataDir)
  const account = await findSystemAccount()
  await requireMajor(manifest)
  if (manifest.hasKeys) await restoreKeys(source, dataDir, watch)
  await checkMark(manifest.secretMark, config)

  const partial = join(dataDir, UNFINISHED)
  await rm(partial, { recursive: true, force: true })
  await mkdir(partial, { mode: 0o700 })
  await syncDirectory(dataDir)
  try {
    const { database, blobs } = manifest
    watch.total((database?.bytes ?? 0) + (blobs?.bytes ?? 0))
    const place = database && (await openDirectories(dataDir, account, { info() {}, warn() {} }))
    await checkSpace([
      { directory: dataDir, bytes: blobs?.bytes ?? 0 },
      // Its directory may be on another disk.
      { directory: place?.home ?? dataDir, bytes: database?.bytes ?? 0 },
    ])
    if (blobs) await restoreBlobs(source, { dataDir, partial, digest: blobs }, watch)
    if (database && place) await restoreDatabase(source, { place, account, database }, watch)
    if (!(await lease.isHeld())) throw new StartError('the restore was paused for too long', { advice: 'run it again' })
  } catch (error) {
    // Without the lease, it may be another restore's.
    if (await lease.isHeld()) await removeRestored(dataDir)
    throw error
  }
  await rm(partial, { recursive: true })
  await syncDirectory(dataDir)
  return manifest
}

/** Throws a `StartError` for a data directory whose restore was interrupted. */
export async function requireNoRestore(dataDir: string) {
  if (!(await exists(join(dataDir, UNFINISHED)))) return
  throw new StartError(`the restore into ${dataDir} was interrupted`, { advice: 'run `groundstate restore` again' })
}

async function checkTarget(config: Config, manifest: Manifest) {
  // A backup does not say which older versions can use it.
  checkMigrations(manifest.migrations.map((name) => ({ name, requires: name })))
  if (manifest.database && config.databaseUrl !== undefined)
    throw new StartError('the backup is that of an embedded database, and GROUNDSTATE_DATABASE_URL is set', {
      advice: 'unset it',
    })
  const store = configuredStore(config)
  if (manifest.blobs && store.kind === 's3')
    throw new StartError('the backup has blobs of a directory, and GROUNDSTATE_S3_BUCKET is set', {
      advice: 'unset it; `groundstate migrate-storage` moves them to the bucket afterwards',
    })
  if (manifest.database && !manifest.blobs && store.kind === 'disk')
    throw new StartError(`the blobs of the backup are in ${manifest.store.place}`, {
      advice: 'set GROUNDSTATE_S3_BUCKET and the other settings of that bucket',
    })
}

async function requireEmpty(dataDir: string) {
  const names = await readdir(dataDir)
  if (names.includes(UNFINISHED)) return removeRestored(dataDir)
  // Another restore may be about to fail.
  const other = names.filter((name) => !KEPT.has(name) && !name.startsWith(LOCK) && !name.startsWith(TIME_PREFIX))
  if (other.length > 0)
    throw new StartError(`the data directory ${dataDir} is not empty: it has ${other.slice(0, 5).join(', ')}`, {
      advice: 'set GROUNDSTATE_DATA_DIR to a new directory, or move its content away',
    })
}

/** Removes an interrupted restore, which began in an empty directory. */
async function removeRestored(dataDir: string) {
  const moved = await readPointer(dataDir)
  const restored = [moved, join(dataDir, POINTER), join(dataDir, 'postgres'), join(dataDir, BLOBS)]
  for (const path of restored) if (path !== undefined) await rm(path, { recursive: true, force: true })
  await rm(join(dataDir, UNFINISHED), { recursive: true, force: true })
}

async function requireMajor({ database }: Manifest) {
  if (!database) return
  const major = await bundledMajor()
  if (database.postgres === major) return
  throw new StartError(
    `the backup has a database of PostgreSQL ${database.postgres}, but this version includes PostgreSQL ${major}`,
    { advice: `restore it with the version that includes PostgreSQL ${database.postgres}` },
  )
}

async function restoreKeys(source: string, dataDir: string, watch: Watch) {
  const keys = join(source, KEYS)
  const path = join(dataDir, 'secret')
  await createFileOnce(path, await readFile(join(keys, 'secret'), 'utf8'))
  const previous = await ignoring('ENOENT', readFile(join(keys, 'previous-secrets'), 'utf8'))
  if (previous !== undefined) await createFileOnce(join(dataDir, 'previous-secrets'), previous)
  const names = (await ignoring('ENOENT', readdir(join(keys, 'tls')))) ?? []
  if (names.length === 0 || (await exists(join(dataDir, 'tls')))) return
  await makeDataDirectory(dataDir, 'tls')
  for (const name of names) await copyFile(join(keys, 'tls', name), join(dataDir, 'tls', name), watch)
  await syncDirectory(join(dataDir, 'tls'))
}

async function restoreBlobs(
  source: string,
  { dataDir, partial, digest }: { dataDir: string; partial: string; digest: SumsDigest },
  watch: Watch,
) {
  const target = join(partial, BLOBS)
  await mkdir(target, { mode: 0o700 })
  await copyPart({ source, part: 'blobs', digest, target, watch })
  await rename(target, join(dataDir, BLOBS))
  await syncDirectory(dataDir)
}

/** Name of the database's directory until it is complete. */
const RESTORING = 'cluster.restoring'

async function restoreDatabase(
  source: string,
  {
    place: { home, cluster },
    account,
    database,
  }: { place: Directories; account: SystemAccount; database: NonNullable<Manifest['database']> },
  watch: Watch,
) {
  const target = join(home, RESTORING)
  const own = async (path: string) => (account.switch ? chown(path, account.uid, account.gid) : undefined)
  await mkdir(target, { mode: 0o700 })
  for (const path of database.directories) await mkdir(join(target, path), { mode: 0o700 })
  await copyPart({ source, part: 'database', digest: database, target, watch, own })
  for (const path of ['', ...database.directories]) await own(join(target, path))
  for (const path of ['', ...database.directories]) await syncDirectory(join(target, path))
  await rename(target, cluster)
  await syncDirectory(home)
  await syncDirectory(dirname(home))
}

type Part = {
  source: string
  part: 'database' | 'blobs'
  digest: SumsDigest
  /** Directory of the copy; without it, the part is only verified. */
  target?: string
  own?: (path: string) => Promise<void>
  watch: Watch
}

/** Copies a part of a backup and verifies it. Its list of checksums comes first, since the manifest vouches for that. */
async function copyPart({ source, part, digest, target, own, watch }: Part) {
  const list = join(source, SUMS[part])
  const { sha256 } = await readFileOf(list, undefined, { ...watch, add() {} })
  if (sha256 !== digest.sha256) throw damaged(list)
  const root = part === 'database' ? DATABASE : BLOBS
  const made = new Set<string>([target ?? ''])
  await forEachFile(readSums(list), async (file) => {
    if (!file.path.startsWith(`${root}/`)) throw damaged(list)
    const path = join(source, file.path)
    const copy = target === undefined ? undefined : join(target, file.path.slice(root.length + 1))
    if (copy !== undefined && !made.has(dirname(copy))) {
      await mkdir(dirname(copy), { recursive: true, mode: 0o700 })
      for (let directory = dirname(copy); !made.has(directory); directory = dirname(directory)) made.add(directory)
    }
    const copied = await readFileOf(path, copy, watch)
    if (copied.sha256 !== file.sha256) throw damaged(path)
    if (copy !== undefined) await own?.(copy)
  })
  if (target !== undefined) for (const directory of made) await syncDirectory(directory)
}

async function readFileOf(path: string, copy: string | undefined, watch: Watch) {
  return copyFile(path, copy, watch).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') throw new StartError(`${path} is missing from the backup`, { cause: error })
    throw error
  })
}

function damaged(path: string) {
  return new StartError(`${path} is damaged: its checksum is not that of the backup`, { advice: 'use another backup' })
}
