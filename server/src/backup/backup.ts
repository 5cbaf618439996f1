import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  type BlobStore,
  checkStore,
  configuredStore,
  findStoreId,
  placeOf,
  requireNoMove,
} from '../blobs/blob-store.ts'
import { holdDeletions } from '../blobs/hold.ts'
import type { Config } from '../config.ts'
import { directoryError, isInside, makeDirectory } from '../directory.ts'
import { createFileOnce, syncDirectory } from '../durable-file.ts'
import { ignoring } from '../error-code.ts'
import { LEASE_ADVICE, takeLease } from '../file-lease.ts'
import { findHome } from '../postgres/directories.ts'
import { checkMark } from '../secrets/mark.ts'
import { loadSecrets } from '../secrets/secret-file.ts'
import { createSecrets } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { copyBlobs, measureBlobs } from './blobs.ts'
import { SumsWriter } from './checksums.ts'
import { checkSpace, type Copied, copyFile, type Watch } from './copy.ts'
import { copyDatabase, describeDatabase, listCluster } from './database.ts'
import {
  DamagedManifest,
  KEYS,
  listBackups,
  type Manifest,
  PARTIAL_SUFFIX,
  readManifest,
  SUMS,
  writeManifest,
} from './manifest.ts'

export type BackupOptions = {
  /** Directory of the backups. Each has a subdirectory named after its time. */
  parent: string
  /** Copies blobs that the latest backup has too, instead of linking its files. */
  full: boolean
  /** Leaves out the database: it is not the embedded one. */
  blobsOnly: boolean
  /** Includes the secret and the TLS keys. */
  includeSecret: boolean
  /** `total` reports how many bytes will be copied. */
  watch: Watch & { total: (bytes: number) => void }
}

/** `added` are the blobs that no earlier backup in the directory has. `damaged` is the latest earlier one if its manifest or list of checksums is. */
export type Backup = {
  path: string
  manifest: Manifest
  added: { blobs: number; bytes: number }
  damaged: string | undefined
}

/** The opened database; it may be closed once it is copied. */
type OpenDatabase = { url: string; close: () => Promise<void> }

/** Space for the log that is written during the copy, and for directories, in bytes. */
const RESERVE_BYTES = 64 * 1024 * 1024

/** File by which only one backup at a time uses the directory of the backups. */
const LOCK = 'backup.lock'

/**
 * Backs up the embedded database and then the blobs on disk, while servers may run: blobs are durable before the row that refers to them commits,
 * and deletions are held. Throws a `StartError`. An interrupted backup leaves a directory `….partial`, which the next one removes.
 */
export async function createBackup(config: Config, database: OpenDatabase, options: BackupOptions): Promise<Backup> {
  const { parent, watch } = options
  const store = configuredStore(config)
  checkParts(config, store, options)
  const described = await describeDatabase(database.url)
  await checkMark(described.secretMark, config)
  await requireStore(config, store, described.store)
  const cluster = options.blobsOnly ? undefined : join(await findHome(config.dataDir), 'cluster')

  await requireOutside(parent, config)
  await makeDirectory(parent, 0o700)
  await using lease = await takeLease(
    join(parent, LOCK),
    (owner) => new StartError(`another backup to ${parent} is running (${owner})`, { advice: LEASE_ADVICE }),
  )
  const { previous, damaged } = await findPrevious(parent, described, watch)
  await using hold = store.kind === 'disk' ? await holdDeletions(store.root) : undefined
  await removeInterrupted(parent)
  const createdAt = new Date()
  const path = join(parent, createdAt.toISOString().replaceAll(/[:.]/g, '-'))
  const partial = `${path}${PARTIAL_SUFFIX}`
  await mkdir(partial, { mode: 0o700 })
  try {
    const listed = cluster === undefined ? undefined : await listCluster(cluster)
    const source =
      store.kind === 'disk' ? { root: store.root, previous: options.full ? undefined : previous } : undefined
    const total = (listed?.bytes ?? 0) + (source ? await measureBlobs(source, watch) : 0)
    watch.total(total)
    await checkSpace([{ directory: parent, bytes: total + RESERVE_BYTES }])

    const copied =
      cluster !== undefined ? await copyDatabase({ url: database.url, cluster }, partial, watch) : undefined
    if (copied) await requireUnmoved(database.url, described)
    await database.close()
    const blobs = source && (await copyBlobs(source, partial, watch))
    if (hold && !(await hold.isHeld())) throw pausedError()
    const keys = options.includeSecret ? await copyKeys(config, partial, watch) : undefined
    const manifest: Manifest = {
      format: 1,
      createdAt: createdAt.toISOString(),
      ...described,
      ...(copied && { database: copied }),
      ...(blobs && { blobs: blobs.digest }),
      hasKeys: options.includeSecret,
      ...(keys && { keys }),
    }
    if (!(await lease.isHeld())) throw pausedError()
    await writeManifest(partial, manifest)
    await rename(partial, path)
    await syncDirectory(parent)
    return { path, manifest, added: { blobs: blobs?.added ?? 0, bytes: blobs?.addedBytes ?? 0 }, damaged }
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    throw error
  }
}

/** What is lost with the data directory must not include its backups. Throws a `StartError`. */
async function requireOutside(parent: string, { dataDir }: Config) {
  const isRefused = await isInside(parent, dataDir).catch((cause: unknown) => {
    throw directoryError(parent, cause)
  })
  if (!isRefused) return
  throw new StartError(`${parent} is in the data directory ${dataDir}, and would be lost with it`, {
    advice: 'choose a directory on another disk',
  })
}

function checkParts(config: Config, store: BlobStore, { blobsOnly }: BackupOptions) {
  if (config.databaseUrl !== undefined && !blobsOnly) {
    throw new StartError('GROUNDSTATE_DATABASE_URL is set: this command copies only the embedded database', {
      advice: `back yours up with pg_dump or its archived log; ${store.kind === 'disk' ? 'then --blobs-only copies the blobs' : 'the bucket needs versioning'}: see /docs/operations of a server for the order`,
    })
  }
  if (store.kind === 's3' && blobsOnly)
    throw new StartError(`the blobs are in ${placeOf(store)}, which this command does not copy`, {
      advice: 'use the versioning or replication of the bucket',
    })
}

/** Without the server's settings, the command could copy a directory that the server does not use. */
async function requireStore(config: Config, store: BlobStore, recorded: Manifest['store']) {
  const secrets = createSecrets(await loadSecrets(config))
  checkStore(recorded, await findStoreId(store, secrets), { store, isNew: false })
  await requireNoMove(store, secrets)
}

/** Rows that were written after servers began to use another store may refer to blobs that only that has. */
async function requireUnmoved(url: string, { store }: Pick<Manifest, 'store'>) {
  const current = await describeDatabase(url)
  if (current.store.id === store.id) return
  throw new StartError(`blobs are being moved to ${current.store.place}`, {
    advice: 'finish it first: `groundstate migrate-storage`',
  })
}

function pausedError() {
  return new StartError('the backup was paused for too long, so content may be missing from it', {
    advice: 'run it again',
  })
}

/** The latest backup with blobs, or that backup as `damaged` if it cannot be read either. Throws a `StartError` if the directory has those of another installation or store. */
async function findPrevious(parent: string, own: Pick<Manifest, 'store' | 'secretMark'>, { signal }: Watch) {
  const latest = (await listBackups(parent)).at(-1)
  if (latest === undefined) return {}
  const manifest = await readManifest(latest).catch((error: unknown) => {
    if (!(error instanceof DamagedManifest)) throw error
  })
  if (manifest === undefined) return { damaged: latest }
  const { store, blobs, secretMark } = manifest
  if (store.id !== own.store.id) {
    const reason =
      secretMark === own.secretMark
        ? `${latest} has the blob store in ${store.place}, and the blobs are now in ${own.store.place}`
        : `${parent} has backups of another installation, such as ${basename(latest)}`
    throw new StartError(reason, { advice: 'choose another directory' })
  }
  if (!blobs) return {}
  const list = await copyFile(join(latest, SUMS.blobs), undefined, { add() {}, signal }).catch(() => undefined)
  signal.throwIfAborted()
  return list?.sha256 === blobs.sha256 ? { previous: latest } : { damaged: latest }
}

/** Names that `createBackup` gives. */
const INTERRUPTED = new RegExp(`^\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\d-\\d{3}Z\\${PARTIAL_SUFFIX}$`)

async function removeInterrupted(parent: string) {
  for (const name of await readdir(parent)) {
    if (INTERRUPTED.test(name)) await rm(join(parent, name), { recursive: true, force: true })
  }
}

async function copyKeys(config: Config, target: string, watch: Watch) {
  const { dataDir } = config
  const directory = join(target, KEYS)
  await mkdir(directory, { mode: 0o700 })
  await using sums = await SumsWriter.create(join(target, SUMS.keys))
  const add = async (name: string, { sha256, bytes }: Copied) => sums.add({ sha256, path: `${KEYS}/${name}` }, bytes)
  const { current, previous } = await loadSecrets(config)
  for (const [name, secrets] of Object.entries({ secret: [current], 'previous-secrets': previous })) {
    if (secrets.length === 0) continue
    const path = join(directory, name)
    await createFileOnce(path, secrets.map((secret) => `${secret.toString('hex')}\n`).join(''))
    await add(name, await copyFile(path, undefined, watch))
  }
  const names = (await ignoring('ENOENT', readdir(join(dataDir, 'tls')))) ?? []
  if (names.length > 0) await mkdir(join(directory, 'tls'), { mode: 0o700 })
  for (const name of names.toSorted())
    await add(`tls/${name}`, await copyFile(join(dataDir, 'tls', name), join(directory, 'tls', name), watch))
  if (names.length > 0) await syncDirectory(join(directory, 'tls'))
  await syncDirectory(directory)
  return await sums.end()
}
