import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { makeDirectory } from '../directory.ts'
import { createFileOnce } from '../durable-file.ts'
import { codeOf } from '../error-code.ts'
import { loadSecret } from '../secrets/secret-file.ts'
import { type Secrets, createSecrets } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'
import type { S3Config } from './s3-requests.ts'
import { openS3Driver } from './s3.ts'

/** Location of an installation's blobs. */
export type BlobStore = { kind: 'disk'; root: string } | ({ kind: 's3' } & S3Config)

/** The blob store that the settings name. Throws a `StartError` when they name it in part. */
export function storeOf(config: Config): BlobStore {
  if (config.s3Bucket === undefined) return { kind: 'disk', root: join(config.dataDir, 'blobs') }
  const { s3Endpoint: endpoint, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey } = config
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new StartError(
      'GROUNDSTATE_S3_BUCKET is set: GROUNDSTATE_S3_ENDPOINT, GROUNDSTATE_S3_ACCESS_KEY_ID and GROUNDSTATE_S3_SECRET_ACCESS_KEY must be too',
    )
  }
  const { s3Bucket: bucket, s3Region: region, s3Prefix: prefix } = config
  return { kind: 's3', bucket, endpoint, region, prefix, accessKeyId, secretAccessKey }
}

/** The place of a blob store, for people. */
export function placeOf(store: BlobStore) {
  if (store.kind === 'disk') return `the directory ${store.root} of ${hostname()}`
  const { endpoint, bucket, prefix = '' } = store
  return `the bucket ${bucket} at ${endpoint}${prefix === '' ? '' : `, prefix ${prefix}`}`
}

/** A file or object next to the blobs; keys of blobs always have a prefix segment. */
const NAME = 'store-id'
const PURPOSE = 'blob-store'

/** The id of a blob store. `isOurs` says whether the secret of this installation has signed it. */
type StoreId = { id: string; isOurs: boolean }

/** The id that a blob store holds; undefined for one that never had any. Changes nothing. */
export async function findStoreId(store: BlobStore, secrets: Secrets): Promise<StoreId | undefined> {
  const text = await readId(store).catch((error: unknown) => unreachable(store, error))
  if (text === undefined) return undefined
  const [id = '', signature = ''] = text.trim().split(' ')
  return { id, isOurs: secrets.verify(id, signature, PURPOSE) }
}

/** Gives a blob store this id, unless it has got one meanwhile. Returns the one that it holds then. */
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
    await makeDirectory(store.root, 0o700)
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
  const reason = cause instanceof Error ? cause.message : String(cause)
  throw new StartError(`can't use ${placeOf(store)} for blobs: ${reason}`, {
    cause,
    advice: store.kind === 'disk' ? 'check GROUNDSTATE_DATA_DIR' : 'check the settings GROUNDSTATE_S3_…',
  })
}

/**
 * The blob store that the database records. `place` is where it was at the last start, for people; null until the store is known
 * to hold the id.
 */
type RecordedStore = { id: string; place: string | null }

const SHARE =
  'give all servers one directory or one bucket (GROUNDSTATE_DATA_DIR, GROUNDSTATE_S3_…), see "Keep the blobs with their database" in docs/OPERATIONS.md'

/**
 * Checks that the server has the blob store that belongs to the database. Otherwise each of two servers would miss what the other
 * has stored, and delete what its own database does not name. A database that records none takes the store of this server:
 * `isNew` means that it was just created, and so is not shared with other stores. Throws a `StartError`. Call it where
 * the row of the installation is there, under the migration lock; once that is committed, call `markStore`.
 */
export async function requireSameStore(client: pg.Client, config: Config, { isNew }: { isNew: boolean }) {
  const { store, secrets } = await ownStore(config)
  const recorded = await findRecordedStore(client)
  const found = await findStoreId(store, secrets)
  checkStore(recorded, found, { store, isNew })
  const place = placeOf(store)
  if (found === undefined) {
    if (recorded === undefined) await recordStore(client, { id: randomUUID(), place: null })
  } else if (recorded?.id !== found.id || recorded.place !== place) await recordStore(client, { id: found.id, place })
}

/**
 * Gives the store the id that the database records for it, unless it has it. The id is committed before: a start that is cut
 * off in between leaves no store of which no database knows, and the next one goes on from there. Throws a `StartError`.
 */
export async function markStore(client: pg.Client, config: Config) {
  const recorded = await findRecordedStore(client)
  if (recorded?.place !== null) return
  const { store, secrets } = await ownStore(config)
  const found = await createStoreId(store, secrets, recorded.id)
  checkStore(recorded, found, { store, isNew: false })
  await recordStore(client, { id: found.id, place: placeOf(store) })
}

/** Throws a `StartError` unless a server may use the store with the database; reads and changes nothing. */
export function checkStore(
  recorded: RecordedStore | undefined,
  found: StoreId | undefined,
  { store, isNew }: { store: BlobStore; isNew: boolean },
) {
  const here = placeOf(store)
  if (recorded === undefined) {
    if (found === undefined || (found.isOurs && !isNew)) return
    throw new StartError(`${here} holds the blobs of another database (store ${found.id})`, {
      advice: `give this server a separate directory or bucket, or the database of that store; ${ADOPT}`,
    })
  }
  if (recorded.id === found?.id) return
  if (recorded.place === null && found === undefined) return
  if (recorded.place === here && found === undefined) {
    throw new StartError(`the blobs of the database are not in ${here} any more (store ${recorded.id})`, {
      advice: `mount or restore them; ${ADOPT}`,
    })
  }
  const what = found === undefined ? 'none of them' : `those of another database (store ${found.id})`
  throw new StartError(
    `the blobs of the database are in ${recorded.place ?? 'an unknown place'} (store ${recorded.id}), and ${here} holds ${what}`,
    { advice: `${SHARE}; ${ADOPT}` },
  )
}

const ADOPT = 'if the right blobs are here all the same, stop all servers and run `groundstate blobs adopt`'

/**
 * Records the store of this configuration as the one of the database, whatever either was before. Returns its id. Throws a
 * `StartError` for a store of another secret, since nothing in it could be read.
 */
export async function adoptStore(client: pg.Client, config: Config): Promise<{ id: string; place: string }> {
  const { store, secrets } = await ownStore(config)
  const { id, isOurs } = (await findStoreId(store, secrets)) ?? (await createStoreId(store, secrets, randomUUID()))
  if (!isOurs) {
    throw new StartError(`the blobs in ${placeOf(store)} were encrypted with another secret`, {
      advice: 'set GROUNDSTATE_SECRET to the one that they were stored with',
    })
  }
  const adopted = { id, place: placeOf(store) }
  await recordStore(client, adopted)
  return adopted
}

/** The store that the database records; undefined before the first start. */
export async function findRecordedStore(client: pg.Client): Promise<RecordedStore | undefined> {
  const { rows } = await client.query<{ id: string | null; place: string | null }>(
    'select blob_store_id as id, blob_store_place as place from installation',
  )
  const [row] = rows
  return row && row.id !== null ? { id: row.id, place: row.place } : undefined
}

/** The store of this server, and the secrets that sign its id. */
async function ownStore(config: Config) {
  return { store: storeOf(config), secrets: createSecrets(await loadSecret(config.dataDir, config.secret)) }
}

async function recordStore(client: pg.Client, { id, place }: RecordedStore) {
  await client.query('update installation set blob_store_id = $1, blob_store_place = $2', [id, place])
}
