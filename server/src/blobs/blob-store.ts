import { randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { reasonOf } from '@groundstate/agent/process/errors'
import type pg from 'pg'
import type { Config } from '../config.ts'
import { LIVE_SERVERS } from '../db/sessions.ts'
import { makeDataDirectory } from '../directory.ts'
import { createFileOnce, replaceFile } from '../durable-file.ts'
import { codeOf } from '../error-code.ts'
import { failureReason } from '../outbound/failure.ts'
import { requireNoChange } from '../secrets/mark.ts'
import { loadSecrets } from '../secrets/secret-file.ts'
import { type Secrets, createSecrets } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { openDiskDriver } from './disk.ts'
import { isOwnKey } from './driver.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'
import { type CredentialProvider, CredentialsError } from './s3-credentials.ts'
import { awsAddress, configuredCredentials } from './s3-settings.ts'
import { type S3Config, openS3Driver } from './s3.ts'

/** Location of an installation's blobs. */
export type BlobStore = { kind: 'disk'; root: string } | ({ kind: 's3' } & S3Config)

const credentials = new WeakMap<Config, CredentialProvider>()

/** The configured blob store. Throws a `StartError` if its settings are incomplete. */
export function configuredStore(config: Config): BlobStore {
  return storeOfKind(config, config.blobStore ?? (config.s3Bucket === undefined ? 'disk' : 's3'))
}

/** The store of a kind, whether or not it is the one in use. Throws a `StartError` if its settings are incomplete. */
export function storeOfKind(config: Config, kind: BlobStore['kind']): BlobStore {
  if (kind === 'disk') return { kind: 'disk', root: join(config.dataDir, 'blobs') }
  if (config.s3Bucket === undefined) throw new StartError('there is no bucket', { advice: 'set GROUNDSTATE_S3_BUCKET' })
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

/** Names of files or objects next to the blobs. They cannot collide with the key of a blob, which has several segments. */
export const STORE_ID = 'store-id'
/** While blobs are moved to this store: the id of the store that they come from, and of this one. */
const MOVE_NAME = 'store-move'
/** Once blobs were moved from this store: the id of the store that they were moved to. */
const MOVED_NAME = 'store-moved'
const PURPOSE = 'blob-store'

/** Id of a blob store. `isOurs`: it was signed with the secret of this installation. `movedTo` is the store to which its blobs were moved. */
type StoreId = { id: string; isOurs: boolean; movedTo?: string | undefined }

/** The id stored in a blob store; undefined for a new one. */
export async function findStoreId(store: BlobStore, secrets: Secrets): Promise<StoreId | undefined> {
  const text = await readNote(store, STORE_ID).catch((error: unknown) => unreachable(store, error))
  if (text === undefined) return undefined
  const [id = '', signature = ''] = text.trim().split(' ')
  const movedTo = await readNote(store, MOVED_NAME).catch((error: unknown) => unreachable(store, error))
  return { id, isOurs: secrets.verify(id, signature, PURPOSE), movedTo: movedTo?.trim() }
}

/** Writes the id to a blob store, and returns the stored id: another process may have written one first. */
async function createStoreId(store: BlobStore, secrets: Secrets, id: string): Promise<StoreId> {
  const text = `${id} ${secrets.sign(id, PURPOSE)}\n`
  await writeNote(store, STORE_ID, text).catch((error: unknown) => unreachable(store, error))
  const written = await findStoreId(store, secrets)
  if (written === undefined) throw new StartError(`${placeOf(store)} does not keep what is written there`)
  return written
}

async function readNote(store: BlobStore, name: string): Promise<string | undefined> {
  try {
    if (store.kind === 'disk') return await readFile(join(store.root, name), 'utf8')
    const content = await openS3Driver(store).read(name)
    return Buffer.isBuffer(content) ? content.toString() : ''
  } catch (error) {
    if (error instanceof BlobNotFoundError || codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

async function writeNote(store: BlobStore, name: string, text: string) {
  if (store.kind === 'disk') {
    await makeDataDirectory(dirname(store.root), basename(store.root))
    await createFileOnce(join(store.root, name), text)
    return
  }
  await openS3Driver(store)
    .write(name, Buffer.from(text))
    .catch((error: unknown) => {
      if (!(error instanceof BlobExistsError)) throw error
    })
}

/** Signs the id in the store with the current secret. Throws a `StartError`. */
export async function signStoreId(store: BlobStore, secrets: Secrets) {
  const found = await findStoreId(store, secrets)
  if (found?.isOurs !== true) return
  const text = `${found.id} ${secrets.sign(found.id, PURPOSE)}\n`
  const replaced =
    store.kind === 'disk'
      ? replaceFile(join(store.root, STORE_ID), text)
      : openS3Driver(store).replace(STORE_ID, Buffer.from(text))
  await replaced.catch((error: unknown) => unreachable(store, error))
}

function unreachable(store: BlobStore, cause: unknown): never {
  if (cause instanceof StartError) throw cause
  if (cause instanceof CredentialsError) throw new StartError(cause.message, { cause, advice: cause.advice })
  const isDisk = store.kind === 'disk'
  throw new StartError(`can't use ${placeOf(store)} for blobs: ${isDisk ? reasonOf(cause) : failureReason(cause)}`, {
    cause,
    advice: isDisk ? 'check GROUNDSTATE_DATA_DIR' : 'check the settings GROUNDSTATE_S3_…',
  })
}

/** A move of blobs to a store that is not complete: ids of the store they come from, and of this one. */
type StoreMove = { from: string; to: string }

/** The incomplete move to a store; undefined without one. */
export async function findMove(store: BlobStore, secrets: Secrets): Promise<StoreMove | undefined> {
  const text = await readNote(store, MOVE_NAME).catch((error: unknown) => unreachable(store, error))
  const [from = '', to = '', signature = ''] = text?.trim().split(' ') ?? []
  return secrets.verify(`${from} ${to}`, signature, MOVE_NAME) ? { from, to } : undefined
}

/**
 * Prepares an unused store for the blobs of another one, and returns the move; an earlier one is continued. Throws a `StartError` for a store
 * that is in use.
 */
export async function beginMove(to: BlobStore, secrets: Secrets, from: string): Promise<StoreMove> {
  const [present, actual] = [await findMove(to, secrets), await findStoreId(to, secrets)]
  if (present ? present.from !== from : actual !== undefined) {
    throw new StartError(`${placeOf(to)} holds other blobs${actual ? ` (store ${actual.id})` : ''}`, {
      advice: 'choose another bucket, prefix or data directory, or delete them if they are not needed',
    })
  }
  const { to: id } = present ?? { to: randomUUID() }
  // Before the id, without which no server uses the store.
  const text = `${from} ${id} ${secrets.sign(`${from} ${id}`, MOVE_NAME)}\n`
  await writeNote(to, MOVE_NAME, text).catch((error: unknown) => unreachable(to, error))
  const move = (await findMove(to, secrets)) ?? { from, to: id }
  await createStoreId(to, secrets, move.to)
  return move
}

/** Throws a `StartError` while blobs are being moved to the store. */
export async function requireNoMove(store: BlobStore, secrets: Secrets) {
  if ((await findMove(store, secrets)) === undefined) return
  throw new StartError(`blobs are being moved to ${placeOf(store)}`, {
    advice: `finish it first: \`groundstate migrate-storage --to ${store.kind}\``,
  })
}

/** Ends a move: the store `to` has all blobs. `forgetMove` has to follow. */
export async function endMove({ from, to }: { from: BlobStore; to: BlobStore }, secrets: Secrets) {
  // For messages to servers that still have the settings of the old store.
  const target = await findStoreId(to, secrets)
  if (target) await writeNote(from, MOVED_NAME, `${target.id}\n`).catch((error: unknown) => unreachable(from, error))
  if (to.kind === 's3') await openS3Driver(to).delete(MOVE_NAME)
  else await rm(join(to.root, MOVE_NAME), { force: true })
}

/**
 * Records in the database that blobs are being moved. Throws a `StartError` while the secret is being replaced, unless servers use the target (`isSwitched`):
 * such a move ends first, and copies what is sealed with either secret. Requires the migration lock.
 */
export async function recordMove(client: pg.Client, to: BlobStore, isSwitched: boolean) {
  if (!isSwitched) await requireNoChange(client)
  await client.query('update installation set blob_move_place = $1', [placeOf(to)])
}

/** Removes the record of a move, and returns the location of its target; null without one. */
export async function forgetMove(client: pg.Client) {
  const { rows } = await client.query<{ place: string | null }>('select blob_move_place as place from installation')
  await client.query('update installation set blob_move_place = null')
  return rows[0]?.place ?? null
}

/**
 * The store from which blobs are being moved to the configured one, where blobs may be that are not moved yet; undefined without a move. Throws a
 * `StartError` if it is not configured.
 */
export async function findMovedStore(config: Config, secrets: Secrets): Promise<BlobStore | undefined> {
  const store = configuredStore(config)
  const move = await findMove(store, secrets)
  if (move === undefined) return undefined
  const advice =
    'keep both configured until `groundstate migrate-storage` has moved all: GROUNDSTATE_DATA_DIR, and GROUNDSTATE_S3_…'
  const isConfigured = store.kind === 's3' || config.s3Bucket !== undefined
  const from = isConfigured ? storeOfKind(config, store.kind === 's3' ? 'disk' : 's3') : undefined
  if (from && (await findStoreId(from, secrets))?.id === move.from) return from
  const found = from ? `, which ${placeOf(from)} does not hold` : ''
  throw new StartError(`blobs are being moved to ${placeOf(store)} from the store ${move.from}${found}`, { advice })
}

/** The blob store recorded in the database. `place` is its location at the last start; null until the id was written to the store. */
type RecordedStore = { id: string; place: string | null }

const SHARE =
  'give all servers one directory or one bucket (GROUNDSTATE_DATA_DIR, GROUNDSTATE_S3_…), see "Keep the blobs with their database" at /docs/operations of a server'

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
  const move = await findMove(store, secrets)
  checkStore(recorded, actual, { store, isNew, move })
  await findMovedStore(config, secrets)
  if (move !== undefined) {
    const isSwitched = recorded?.id !== move.from
    if (!isSwitched) await requireNoServer(client)
    // Again: the move may have been given up in between.
    await recordMove(client, store, isSwitched)
  }
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

/**
 * Throws a `StartError` while servers, which always have a listening connection, are connected to the database: they would continue to use their
 * blob store.
 */
export async function requireNoServer(client: pg.Client) {
  const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${LIVE_SERVERS} live`)
  if (rows[0]?.count === 0) return
  throw new StartError('a server that uses another blob store is connected to the database', {
    advice: 'stop all servers first',
  })
}

/** Throws a `StartError` unless the store belongs to the database, or the blobs of the database are being moved to it. */
export function checkStore(
  recorded: RecordedStore | undefined,
  actual: StoreId | undefined,
  { store, isNew, move }: { store: BlobStore; isNew: boolean; move?: StoreMove | undefined },
) {
  const here = placeOf(store)
  if (recorded === undefined) {
    if (actual === undefined || (actual.isOurs && !isNew)) return
    const reason = `${here} holds the blobs of another database (store ${actual.id})`
    throw new StartError(isNew ? `the database is new, and ${reason}` : reason, {
      advice: 'give this server a separate directory or bucket, or the database of that store',
    })
  }
  if (recorded.id === actual?.id) return
  if (move !== undefined && recorded.id === move.from && actual?.id === move.to) return
  if (recorded.place === null && actual === undefined) return
  if (recorded.place === here && actual === undefined) {
    throw new StartError(`the blobs of the database are not in ${here} any more (store ${recorded.id})`, {
      advice: `mount or restore them; ${ADOPT}`,
    })
  }
  if (actual?.movedTo === recorded.id) {
    throw new StartError(`the blobs of the database were moved from ${here} to ${recorded.place ?? 'another store'}`, {
      advice: 'use the settings of that store: GROUNDSTATE_BLOB_STORE, and GROUNDSTATE_S3_… or GROUNDSTATE_DATA_DIR',
    })
  }
  const content = actual === undefined ? 'none of them' : `other blobs (store ${actual.id})`
  throw new StartError(
    `the blobs of the database are in ${recorded.place ?? 'an unknown place'} (store ${recorded.id}), and ${here} holds ${content}`,
    { advice: `${SHARE}; ${ADOPT}` },
  )
}

const ADOPT = 'if these are the right blobs, stop all servers and run `groundstate blobs adopt`'

/** Tables with the rows whose ids are in the keys of blobs. */
const OWNERS = [
  'state_versions',
  'configuration_versions',
  'runs',
  'phases',
  'ingress_attributes',
  'policy_sets',
  'policy_set_versions',
  'policy_trials',
  'registry_module_versions',
  'registry_provider_platforms',
]

/** Throws a `StartError` if there are blobs and the database names none of them: a server would delete them all. */
async function requireNamedBlobs(client: pg.Client, store: BlobStore) {
  if (store.kind === 'disk') await makeDataDirectory(dirname(store.root), basename(store.root))
  await using driver = store.kind === 'disk' ? await openDiskDriver(store.root) : openS3Driver(store)
  const owners = OWNERS.map((table) => `select id from ${table}`).join(' union all ')
  let count = 0
  for await (const { keys } of driver.list('')) {
    const ids = keys.filter(isOwnKey).map((key) => key.split('/')[1])
    const { rowCount } = await client.query(`select from (${owners}) o where id = any($1) limit 1`, [ids])
    if (rowCount !== 0) return
    count += ids.length
  }
  if (count === 0) return
  throw new StartError(`the database names none of the blobs in ${placeOf(store)}, which a server would delete`, {
    advice: 'use the database of these blobs, or another directory or bucket',
  })
}

/** Records the configured store as that of the database, and returns it. Throws a `StartError` for one with another secret or other blobs alone. */
export async function adoptStore(client: pg.Client, config: Config): Promise<{ id: string; place: string }> {
  const { store, secrets } = await openStore(config)
  const move = await findMove(store, secrets)
  const found = await findStoreId(store, secrets)
  const isRecorded = found !== undefined && found.id === (await findRecordedStore(client))?.id
  if (move === undefined && !isRecorded && found?.isOurs !== false)
    await requireNamedBlobs(client, store).catch((error: unknown) => unreachable(store, error))
  const { id, isOurs } = found ?? (await createStoreId(store, secrets, move?.to ?? randomUUID()))
  if (!isOurs) {
    throw new StartError(`the blobs in ${placeOf(store)} were encrypted with another secret`, {
      advice: 'set GROUNDSTATE_SECRET to that secret',
    })
  }
  const adopted = { id, place: placeOf(store) }
  await recordStore(client, adopted)
  if (move === undefined) await forgetMove(client)
  else await recordMove(client, store, true)
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
  return { store: configuredStore(config), secrets: createSecrets(await loadSecrets(config)) }
}

async function recordStore(client: pg.Client, { id, place }: RecordedStore) {
  await client.query('update installation set blob_store_id = $1, blob_store_place = $2', [id, place])
}
