import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { reasonOf } from '@groundstate/agent/process/errors'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { makeDataDirectory } from '../directory.ts'
import { createFileOnce } from '../durable-file.ts'
import { codeOf, messageOf } from '../error-code.ts'
import { innermostError } from '../outbound/failure.ts'
import { loadSecret } from '../secrets/secret-file.ts'
import { type Secrets, createSecrets } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'
import { type CredentialProvider, CredentialsError } from './s3-credentials.ts'
import { awsAddress, configuredCredentials } from './s3-settings.ts'
import { type S3Config, openS3Driver } from './s3.ts'

/** Location of an installation's blobs. */
export type BlobStore = { kind: 'disk'; root: string } | ({ kind: 's3' } & S3Config)

const credentials = new WeakMap<Config, CredentialProvider>()

/** The configured blob store. Throws a `StartError` if its settings are incomplete. */
export function configuredStore(config: Config): BlobStore {
  if (config.s3Bucket === undefined) return { kind: 'disk', root: join(config.dataDir, 'blobs') }
  const { s3Bucket: bucket, s3Region: region, s3Prefix: prefix, s3Addressing: addressing } = config
  const endpoint = config.s3Endpoint ?? awsAddress('s3', region)
  if (addressing === 'virtual-host' && isIP(new URL(endpoint).hostname.replace(/^\[(.+)\]$/, '$1')) !== 0) {
    throw new StartError(`GROUNDSTATE_S3_ADDRESSING is virtual-host, and the endpoint ${endpoint} has no host name`, {
      advice: 'set GROUNDSTATE_S3_ADDRESSING=path',
    })
  }
  // All stores of a process share the credentials, so that few are requested.
  const provider = credentials.get(config) ?? configuredCredentials(config)
  credentials.set(config, provider)
  return { kind: 's3', bucket, endpoint, region, prefix, addressing, credentials: provider }
}

/** Describes the location of a blob store in messages. */
export function placeOf(store: BlobStore) {
  if (store.kind === 'disk') return `the directory ${store.root} of ${hostname()}`
  const { endpoint, bucket, prefix = '' } = store
  return `the bucket ${bucket} at ${endpoint}${prefix === '' ? '' : `, prefix ${prefix}`}`
}

/** Name of a file or object next to the blobs. It cannot collide with the key of a blob, which has several segments. */
const NAME = 'store-id'
const PURPOSE = 'blob-store'

/** Id of a blob store. `isOurs`: it was signed with the secret of this installation. */
type StoreId = { id: string; isOurs: boolean }

/** The id stored in a blob store; undefined for a new one. */
export async function findStoreId(store: BlobStore, secrets: Secrets): Promise<StoreId | undefined> {
  const text = await readId(store).catch((error: unknown) => unreachable(store, error))
  if (text === undefined) return undefined
  const [id = '', signature = ''] = text.trim().split(' ')
  return { id, isOurs: secrets.verify(id, signature, PURPOSE) }
}

/** Writes the id to a blob store, and returns the stored id: another process may have written one first. */
async function createStoreId(store: BlobStore, secrets: Secrets, id: string): Promise<StoreId> {
  await writeId(store, `${id} ${secrets.sign(id, PURPOSE)}\n`).catch((error: unknown) => unreachable(store, error))
  const written = await findStoreId(store, secrets)
  if (written === undefined) throw new StartError(`${placeOf(store)} does not keep what is written there`)
  return written
}

async function readId(store: BlobStore): Promise<string | undefined> {
  try {
    if (store.kind === 'disk') return await readFile(join(store.root, NAME), 'utf8')
    const content = await openS3Driver(store).read(NAME)
    return Buffer.isBuffer(content) ? content.toString() : ''
  } catch (error) {
    if (error instanceof BlobNotFoundError || codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function writeId(store: BlobStore, text: string) {
  if (store.kind === 'disk') {
    await makeDataDirectory(dirname(store.root), basename(store.root))
    await createFileOnce(join(store.root, NAME), text)
    return
  }
  await openS3Driver(store)
    .write(NAME, Buffer.from(text))
    .catch((error: unknown) => {
      if (!(error instanceof BlobExistsError)) throw error
    })
}

function unreachable(store: BlobStore, cause: unknown): never {
  if (cause instanceof StartError) throw cause
  if (cause instanceof CredentialsError) throw new StartError(cause.message, { cause, advice: cause.advice })
  const isDisk = store.kind === 'disk'
  throw new StartError(
    `can't use ${placeOf(store)} for blobs: ${isDisk ? reasonOf(cause) : messageOf(innermostError(cause))}`,
    {
      cause,
      advice: isDisk ? 'check GROUNDSTATE_DATA_DIR' : 'check the settings GROUNDSTATE_S3_…',
    },
  )
}

/** The blob store recorded in the database. `place` is its location at the last start; null until the id was written to the store. */
type RecordedStore = { id: string; place: string | null }

const SHARE =
  'give all servers one directory or one bucket (GROUNDSTATE_DATA_DIR, GROUNDSTATE_S3_…), see "Keep the blobs with their database" in docs/OPERATIONS.md'

/**
 * Checks that the configured blob store belongs to the database; with another one, blobs would be missing, and the sweep would delete
 * those of the other database. A database without a recorded store takes the configured one. `isNew`: the database was just created, so no
 * used store can belong to it. Throws a `StartError`. Requires the row of `installation` and the migration lock; call `markStore`
 * after the commit.
 */
export async function requireSameStore(client: pg.Client, config: Config, { isNew }: { isNew: boolean }) {
  const { store, secrets } = await openStore(config)
  const recorded = await findRecordedStore(client)
  const actual = await findStoreId(store, secrets)
  checkStore(recorded, actual, { store, isNew })
  const place = placeOf(store)
  if (actual === undefined) {
    if (recorded === undefined) await recordStore(client, { id: randomUUID(), place: null })
  } else if (recorded?.id !== actual.id || recorded.place !== place) await recordStore(client, { id: actual.id, place })
}

/**
 * Writes the recorded id to the store if missing. The id was committed before, so an interrupted start leaves no store that no database
 * knows, and the next start continues. Throws a `StartError`.
 */
export async function markStore(client: pg.Client, config: Config) {
  const recorded = await findRecordedStore(client)
  if (recorded?.place !== null) return
  const { store, secrets } = await openStore(config)
  const actual = await createStoreId(store, secrets, recorded.id)
  checkStore(recorded, actual, { store, isNew: false })
  await recordStore(client, { id: actual.id, place: placeOf(store) })
}

/** Throws a `StartError` unless the store belongs to the database. */
export function checkStore(
  recorded: RecordedStore | undefined,
  actual: StoreId | undefined,
  { store, isNew }: { store: BlobStore; isNew: boolean },
) {
  const here = placeOf(store)
  if (recorded === undefined) {
    if (actual === undefined || (actual.isOurs && !isNew)) return
    throw new StartError(`${here} holds the blobs of another database (store ${actual.id})`, {
      advice: `give this server a separate directory or bucket, or the database of that store; ${ADOPT}`,
    })
  }
  if (recorded.id === actual?.id) return
  if (recorded.place === null && actual === undefined) return
  if (recorded.place === here && actual === undefined) {
    throw new StartError(`the blobs of the database are not in ${here} any more (store ${recorded.id})`, {
      advice: `mount or restore them; ${ADOPT}`,
    })
  }
  const content = actual === undefined ? 'none of them' : `those of another database (store ${actual.id})`
  throw new StartError(
    `the blobs of the database are in ${recorded.place ?? 'an unknown place'} (store ${recorded.id}), and ${here} holds ${content}`,
    { advice: `${SHARE}; ${ADOPT}` },
  )
}

const ADOPT = 'if these are the right blobs, stop all servers and run `groundstate blobs adopt`'

/** Records the configured store as that of the database, and returns it. Throws a `StartError` for a store with another secret. */
export async function adoptStore(client: pg.Client, config: Config): Promise<{ id: string; place: string }> {
  const { store, secrets } = await openStore(config)
  const { id, isOurs } = (await findStoreId(store, secrets)) ?? (await createStoreId(store, secrets, randomUUID()))
  if (!isOurs) {
    throw new StartError(`the blobs in ${placeOf(store)} were encrypted with another secret`, {
      advice: 'set GROUNDSTATE_SECRET to that secret',
    })
  }
  const adopted = { id, place: placeOf(store) }
  await recordStore(client, adopted)
  return adopted
}

/** Undefined before the first start. */
export async function findRecordedStore(client: pg.Client): Promise<RecordedStore | undefined> {
  const { rows } = await client.query<{ id: string | null; place: string | null }>(
    'select blob_store_id as id, blob_store_place as place from installation',
  )
  const [row] = rows
  return row && row.id !== null ? { id: row.id, place: row.place } : undefined
}

async function openStore(config: Config) {
  return { store: configuredStore(config), secrets: createSecrets(await loadSecret(config.dataDir, config.secret)) }
}

async function recordStore(client: pg.Client, { id, place }: RecordedStore) {
  await client.query('update installation set blob_store_id = $1, blob_store_place = $2', [id, place])
}
