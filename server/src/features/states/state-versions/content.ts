import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { App } from '../../../app.ts'
import { slices } from '../../../blobs/content.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { isDefinitelyRejected } from '../../../db/db.ts'
import { GrowingBuffer } from '../../../http/bodies.ts'
import { randomText } from '../../../ids.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { type ContentLocations, findContent, isFinalized } from './content-store.ts'

/** The raw state, or `terraform show -json` of it. */
export type ContentKind = 'raw' | 'json'

/** Maximum size of content that is kept in a row, without a separate file and fsync. Rows are faster up to several hundred KB. */
export const ROW_BYTES = 256 * 1024

/** Size above which content is read in chunks, so that concurrent uploads need little memory. */
export const LARGE_BYTES = 4 * 1024 * 1024

/** Stored content: encrypted bytes for the transaction that inserts the version, or the key of a blob. `size` is in bytes. */
export type StoredContent = { location: string; sealed: Buffer | undefined; size: number }

const IN_ROW = 'row'

export function md5Of(content: Buffer) {
  return createHash('md5').update(content).digest('hex')
}

/** Stores content before its version is inserted, in a row or as a durable blob. A blob without a version is swept later. */
export async function storeContent(
  app: App,
  { id, kind, md5 }: { id: string; kind: ContentKind; md5?: string },
  content: Buffer,
): Promise<StoredContent> {
  if (content.length <= ROW_BYTES) return sealContent(app, id, kind, content)
  const location = newBlobKey(id, kind)
  const { size } = await app.blobs.put(location, content, md5 === undefined ? {} : { md5 })
  return { location, sealed: undefined, size }
}

/** Seals small content for a row: a byte for the encoding, then the content, encrypted. */
function sealContent(app: App, id: string, kind: ContentKind, content: Buffer): StoredContent {
  const encoded =
    content.length < COMPRESSED_FROM
      ? Buffer.concat([PLAIN, content])
      : Buffer.concat([ZSTD, zstdCompressSync(content, { ...ZSTD_OPTIONS, pledgedSrcSize: content.length })])
  const sealed = app.secrets.seal(encoded, rowContext(id, kind))
  return { location: IN_ROW, sealed, size: content.length }
}

/** Size below which compression is not worth its time, in bytes. */
const COMPRESSED_FROM = 4096
const ZSTD_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const PLAIN = Buffer.from([0])
const ZSTD = Buffer.from([1])

/** The key of one attempt to store content. Keys are never reused, since an upload may be retried. */
export function newBlobKey(id: string, kind: ContentKind) {
  return `${BLOB_PREFIX}${id}/${kind}-${randomText(12)}`
}

export const BLOB_PREFIX = 'state-versions/'

export const sealedStateContent = sealedColumn(
  'state_contents.sealed',
  ['state_version_id', 'kind'],
  ({ state_version_id: id, kind }) => `${BLOB_PREFIX}${id}/${kind}`,
)

function rowContext(id: string, kind: ContentKind) {
  return sealedStateContent.context({ state_version_id: id, kind })
}

function blobOf(version: ContentLocations, kind: ContentKind) {
  return kind === 'raw'
    ? { location: version.raw_location, size: version.size }
    : { location: version.json_location, size: undefined }
}

/** The content of a version as a buffer or a stream, verified while it is read; undefined if it has none. */
export async function openContent(app: App, version: ContentLocations, kind: ContentKind) {
  const { location, size } = blobOf(version, kind)
  if (location === null) return undefined
  if (location === IN_ROW) return readRow(app, version, kind)
  return unlessDeleted(app, version, async () => {
    const shared =
      size == null ? undefined : await openShared(location, size, async () => app.blobs.read(location, { size }))
    return shared ?? (await app.blobs.open(location))
  })
}

/** As `openContent`, in memory. */
export async function readContent(app: App, version: ContentLocations, kind: ContentKind) {
  const { location, size } = blobOf(version, kind)
  if (location === null) return undefined
  if (location === IN_ROW) return readRow(app, version, kind)
  return unlessDeleted(app, version, async () => app.blobs.read(location, size == null ? {} : { size }))
}

/** The result of a read; undefined if the version was deleted after its row was read. */
async function unlessDeleted<T>({ db }: App, { id }: ContentLocations, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof BlobNotFoundError && !(await isFinalized(db, id))) return undefined
    throw error
  }
}

/** A whole blob of a known size (bytes), without a copy. */
export async function readBlob(app: App, { location, size }: { location: string; size: number }) {
  const content = new GrowingBuffer(size)
  for await (const chunk of await app.blobs.open(location)) content.add(chunk as Buffer)
  return content.whole()
}

async function readRow(app: App, { id, ...read }: ContentLocations, kind: ContentKind) {
  const sealed = read.sealed ?? (await findContent(app.db, id, kind))
  if (!sealed) return undefined
  const encoded = app.secrets.open(sealed, rowContext(id, kind))
  const content = encoded.subarray(1)
  return encoded[0] === PLAIN[0] ? content : zstdDecompressSync(content)
}

export async function deleteContent(app: App, version: ContentLocations) {
  for (const location of [version.raw_location, version.json_location]) {
    if (location !== null && location !== IN_ROW) await app.blobs.delete(location)
  }
}

/** Deletes the stored content of a write that was definitely rejected. After any other error the content is left to the sweep. */
export async function deleteRejectedContents(
  app: App,
  contents: readonly (StoredContent | undefined)[],
  error: unknown,
) {
  if (!isDefinitelyRejected(error)) return
  for (const stored of contents) if (stored && stored.sealed === undefined) await app.blobs.delete(stored.location)
}

/** Maximum total size of the content that a process holds for downloads, in bytes. */
const TOTAL_BYTES = 24 * 1024 * 1024
/** Size above which content is always streamed, in bytes. */
const MAX_SHARED_BYTES = 16 * 1024 * 1024
/** A multiple of a socket's buffer. */
const CHUNK_BYTES = 512 * 1024

type Held = { content: Promise<Buffer>; size: number; readers: number }

/** If no memory was freed for this long, in ms, slow clients hold it: then waiting readers get separate streams. */
const STALLED_MS = 250
const RELEASED_READERS = 8

const held = new Map<string, Held>()
let heldBytes = 0

/** Readers waiting for memory, first come first served. */
const waiting: { enter: () => Held | undefined; resolve: (entry: Held | undefined) => void }[] = []
let stalled: NodeJS.Timeout | undefined

/**
 * A stream of immutable content that concurrent readers share: a state that a dozen runs read at once is decrypted and decompressed once.
 * A reader waits for memory, since separate streams would take more memory and no less time. Returns undefined for large content, and if
 * no memory is freed in time. The stream must be consumed or destroyed.
 */
export async function openShared(key: string, size: number, read: () => Promise<Buffer>) {
  if (size > MAX_SHARED_BYTES) return undefined
  const enter = () => enterHeld(key, size, read)
  const entry = (waiting.length === 0 || held.has(key) ? enter() : undefined) ?? (await turn(enter))
  if (!entry) return undefined
  try {
    const chunks = slices(await entry.content, CHUNK_BYTES)
    const stream = Readable.from(chunks, { objectMode: false, highWaterMark: CHUNK_BYTES })
    return stream.once('close', () => leave(key, entry))
  } catch (error) {
    leave(key, entry)
    throw error
  }
}

/** The content with one more reader; undefined if there is no memory for it. */
function enterHeld(key: string, size: number, read: () => Promise<Buffer>): Held | undefined {
  const entry = held.get(key) ?? hold(key, size, read)
  if (entry) entry.readers += 1
  return entry
}

function hold(key: string, size: number, read: () => Promise<Buffer>): Held | undefined {
  if (heldBytes + size > TOTAL_BYTES) return undefined
  const entry = { content: read(), size, readers: 0 }
  held.set(key, entry)
  heldBytes += size
  return entry
}

async function turn(enter: () => Held | undefined) {
  const { promise, resolve } = Promise.withResolvers<Held | undefined>()
  waiting.push({ enter, resolve })
  if (waiting.length === 1) restartStallTimer()
  return promise
}

function leave(key: string, entry: Held) {
  entry.readers -= 1
  if (entry.readers > 0) return
  held.delete(key)
  heldBytes -= entry.size
  admit()
}

function admit() {
  for (let next = waiting[0]; next; next = waiting[0]) {
    const entry = next.enter()
    if (!entry) break
    waiting.shift()
    next.resolve(entry)
  }
  restartStallTimer()
}

function restartStallTimer() {
  clearTimeout(stalled)
  stalled = waiting.length > 0 ? setTimeout(releaseWaiting, STALLED_MS) : undefined
}

function releaseWaiting() {
  for (const { resolve } of waiting.splice(0, RELEASED_READERS)) resolve(undefined)
  restartStallTimer()
}

/** Returns a function that runs one task at a time, in call order: only one large content may be in memory. */
export function createSerialQueue() {
  let last: Promise<unknown> = Promise.resolve()
  return async <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
}

const largeInTurn = createSerialQueue()

/** Runs work that reads whole contents of `bytes` in total; large ones one at a time. */
export async function withWhole<T>(bytes: number, work: () => Promise<T>): Promise<T> {
  return bytes > LARGE_BYTES ? largeInTurn(work) : work()
}

/** Free memory for uploads, in bytes, besides the few MB of each streamed upload. */
let free = 64 * 1024 * 1024

/** Reserves memory for an upload until it is disposed; undefined if there is not enough left. */
export function reserveMemory(bytes: number): Disposable | undefined {
  if (bytes > free) return undefined
  free -= bytes
  return { [Symbol.dispose]: () => void (free += bytes) }
}
