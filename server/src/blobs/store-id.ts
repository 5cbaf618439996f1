import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../directory.ts'
import { createFileOnce } from '../durable-file.ts'
import { codeOf } from '../error-code.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { StartError } from '../start-error.ts'
import { type BlobStore, placeOf } from './blob-store.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'
import { openS3Driver } from './s3.ts'

/** A file or object next to the blobs; keys of blobs always have a prefix segment. */
const NAME = 'store-id'
const PURPOSE = 'blob-store'

/** The id of a blob store. `isOurs` says whether the secret of this installation has signed it. */
export type StoreId = { id: string; isOurs: boolean }

/** The id that a blob store holds; undefined for one that never had any. Changes nothing. */
export async function findStoreId(store: BlobStore, secrets: Secrets): Promise<StoreId | undefined> {
  const text = await readId(store).catch((error: unknown) => unreachable(store, error))
  if (text === undefined) return undefined
  const [id = '', signature = ''] = text.trim().split(' ')
  return { id, isOurs: secrets.verify(id, signature, PURPOSE) }
}

/** Gives a blob store this id, unless it has got one meanwhile. Returns the one that it holds then. */
export async function createStoreId(store: BlobStore, secrets: Secrets, id: string): Promise<StoreId> {
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
