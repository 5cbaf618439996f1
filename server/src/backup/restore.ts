import { chown, link, mkdir, opendir, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { configuredStore } from '../blobs/blob-store.ts'
import type { Config } from '../config.ts'
import { checkMigrations } from '../db/migrate.ts'
import { exists, makeDataDirectory, requireOwner } from '../directory.ts'
import { syncDirectory } from '../durable-file.ts'
import { codeOf, ignoring } from '../error-code.ts'
import { LEASE_ADVICE, takeLease, TIME_PREFIX } from '../file-lease.ts'
import { findSystemAccount, type SystemAccount } from '../postgres/account.ts'
import { bundledMajor } from '../postgres/binaries.ts'
import { type Directories, openDirectories, POINTER, readPointer } from '../postgres/directories.ts'
import { checkMark } from '../secrets/mark.ts'
import { StartError } from '../start-error.ts'
import { type FileSum, readSums, type SumsDigest } from './checksums.ts'
import { checkSpace, copyFile, forEachFile, type Watch } from './copy.ts'
import { BLOBS, KEYS, type Manifest, readManifest, SUMS } from './manifest.ts'

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
  watch.total(bytesOf(manifest))
  if (manifest.hasKeys) await requireSecret(source, manifest)
  for (const part of ['keys', 'database', 'blobs'] as const) {
    const digest = manifest[part]
    if (!digest) continue
    await copyPart({ source, part, digest, watch })
    await requireNoOther(source, part, digest)
  }
  return manifest
}

function bytesOf({ database, blobs, keys }: Manifest) {
  return (database?.bytes ?? 0) + (blobs?.bytes ?? 0) + (keys?.bytes ?? 0)
}

/** Throws a `StartError` unless the included secret is that of the backup. Earlier versions wrote no checksum of it. */
async function requireSecret(source: string, { secretMark }: Manifest) {
  const path = join(source, KEYS, 'secret')
  if (!(await exists(path))) throw missing(path)
  await checkMark(secretMark, { dataDir: join(source, KEYS) }).catch((cause: unknown) => {
    // An unreadable file is named already.
    if (!(cause instanceof StartError) || cause.cause !== undefined) throw cause
    throw new StartError(`${path} is damaged: it is not the secret of the backup`, { cause, advice: OTHER_ADVICE })
  })
}

/** Throws a `StartError` for files that the list of a part does not have. All that it has must exist. */
async function requireNoOther(source: string, part: Part['part'], { files }: SumsDigest) {
  const list = async () => opendir(join(source, part), { recursive: true })
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
 * Restores a backup into the data directory, which must be empty but for the secret and TLS keys: those there are kept, and the backup's are not read.
 * Each file is verified while it is copied. Throws a `StartError`. An interrupted restore can be repeated, and no server starts before it is complete.
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

  const partial = join(dataDir, UNFINISHED)
  await rm(partial, { recursive: true, force: true })
  await mkdir(partial, { mode: 0o700 })
  await syncDirectory(dataDir)
  const keys: string[] = []
  try {
    const { database, blobs } = manifest
    watch.total(bytesOf(manifest))
    if (manifest.hasKeys) await restoreKeys(source, { manifest, dataDir, partial, restored: keys }, watch)
    await checkMark(manifest.secretMark, config)
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
    if (await lease.isHeld()) await removeRestored(dataDir, keys)
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
      advice: 'unset it, or copy the states alone: see "From a trial to production" at /docs/operations of a server',
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

/** Removes an interrupted restore, which began in an empty directory, and the keys that it is known to have restored. */
async function removeRestored(dataDir: string, keys: readonly string[] = []) {
  const moved = await readPointer(dataDir)
  const names = [POINTER, 'postgres', BLOBS, ...keys]
  for (const path of [moved, ...names.map((name) => join(dataDir, name))])
    if (path !== undefined) await rm(path, { recursive: true, force: true })
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

type KeysTarget = {
  manifest: Manifest
  dataDir: string
  partial: string
  /** Gets the names in the data directory. */
  restored: string[]
}

/** Restores the keys that the data directory lacks: first to `partial`, so that an interrupted restore leaves none or all files of `tls/`. */
async function restoreKeys(source: string, { manifest, dataDir, partial, restored }: KeysTarget, watch: Watch) {
  const present = new Set(await readdir(dataDir))
  // An empty one is replaced.
  const ownTls = (await ignoring('ENOENT', readdir(join(dataDir, 'tls')))) ?? []
  if (ownTls.length === 0) present.delete('tls')
  if (!present.has('secret')) await requireSecret(source, manifest)
  const target = join(partial, KEYS)
  await mkdir(target, { mode: 0o700 })
  const isWanted = (path: string) => {
    const [name = '', file = ''] = path.split('/')
    if (!present.has(name)) return true
    if (name !== 'tls' || ownTls.includes(file)) return false
    throw new StartError(`${join(dataDir, 'tls')} lacks ${file}, which the backup has`, {
      advice: 'add it, or move the directory away to restore that of the backup',
    })
  }
  await copyPart({ source, part: 'keys', digest: manifest.keys, target, isWanted, watch })
  for (const name of await readdir(target)) {
    // Neither replaces what another process has put there.
    const move = name === 'tls' ? rename : link
    await move(join(target, name), join(dataDir, name))
    restored.push(name)
  }
  await syncDirectory(dataDir)
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
  /** Its directory. */
  part: keyof typeof SUMS
  /** Undefined for keys in a backup of an earlier version, which cannot be verified. */
  digest: SumsDigest | undefined
  /** Directory of the copy; without it, the part is only verified. */
  target?: string
  isWanted?: (path: string) => boolean
  own?: (path: string) => Promise<void>
  watch: Watch
}

/** Copies a part of a backup and verifies it. Its list of checksums comes first, since the manifest vouches for that. */
async function copyPart({ source, part, digest, target, isWanted, own, watch }: Part) {
  const list = join(source, SUMS[part])
  if (digest) {
    const { sha256 } = await readFileOf(list, undefined, { ...watch, add() {} })
    if (sha256 !== digest.sha256) throw damaged(list)
  }
  const made = new Set<string>([target ?? ''])
  await forEachFile(digest ? readSums(list) : listUnverified(source, part), async (file) => {
    if (!file.path.startsWith(`${part}/`)) throw damaged(list)
    const inner = file.path.slice(part.length + 1)
    if (isWanted?.(inner) === false) return
    const path = join(source, file.path)
    const copy = target === undefined ? undefined : join(target, inner)
    if (copy !== undefined && !made.has(dirname(copy))) {
      await mkdir(dirname(copy), { recursive: true, mode: 0o700 })
      for (let directory = dirname(copy); !made.has(directory); directory = dirname(directory)) made.add(directory)
    }
    const copied = await readFileOf(path, copy, watch)
    if (file.sha256 !== undefined && copied.sha256 !== file.sha256) throw damaged(path)
    if (copy !== undefined) await own?.(copy)
  })
  if (target !== undefined) for (const directory of made) await syncDirectory(directory)
}

async function* listUnverified(
  source: string,
  part: Part['part'],
): AsyncGenerator<Partial<FileSum> & { path: string }> {
  const entries = await ignoring('ENOENT', opendir(join(source, part), { recursive: true }))
  for await (const entry of entries ?? [])
    if (entry.isFile()) yield { path: relative(source, join(entry.parentPath, entry.name)) }
}

async function readFileOf(path: string, copy: string | undefined, watch: Watch) {
  return copyFile(path, copy, watch).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') throw missing(path, error)
    throw error
  })
}

const OTHER_ADVICE = 'use another backup'

function missing(path: string, cause?: unknown) {
  return new StartError(`${path} is missing from the backup`, { cause })
}

function damaged(path: string) {
  return new StartError(`${path} is damaged: its checksum is not that of the backup`, { advice: OTHER_ADVICE })
}
