import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { App } from '../../../app.ts'
import { slices } from '../../../blobs/content.ts'
import { isDefinitelyRejected } from '../../../db/db.ts'
import { GrowingBuffer } from '../../../http/bodies.ts'
import { randomText } from '../../../ids.ts'
import { type ContentLocations, findContent } from './content-store.ts'

/** The raw state, or `terraform show -json` of it. */
export type ContentKind = 'raw' | 'json'

/**
 * Up to this size (bytes) content is kept sealed in a row, so that it needs no separate file and fsync; measured, a
 * row is faster than a file up to several hundred KB.
 */
export const ROW_BYTES = 256 * 1024

/** Content above this size (bytes) is read in small parts, so that concurrent uploads need little memory. */
export const LARGE_BYTES = 4 * 1024 * 1024

/** Stored content: encrypted bytes for the transaction that inserts the version, or the key of a blob. */
export type StoredContent = { location: string; sealed: Buffer | undefined; size: number }

const IN_ROW = 'row'

export function md5Of(content: Buffer) {
  return createHash('md5').update(content).digest('hex')
}

/**
 * Stores the content of version `id` before the version is inserted: small content is sealed for a row, other content becomes a
 * durable blob. A blob that no version names in the end is swept. `md5` is that of the content, where it is known.
 */
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

/** Seals small content for a row: a byte that says how it is encoded, then the content, encrypted. */
function sealContent(app: App, id: string, kind: ContentKind, content: Buffer): StoredContent {
  const encoded =
    content.length < COMPRESSED_FROM
      ? Buffer.concat([PLAIN, content])
      : Buffer.concat([ZSTD, zstdCompressSync(content, { ...ZSTD_OPTIONS, pledgedSrcSize: content.length })])
  const sealed = app.secrets.seal(encoded, rowContext(id, kind))
  return { location: IN_ROW, sealed, size: content.length }
}

/** Below this size (bytes) compression costs more time than the saved bytes are worth. */
const COMPRESSED_FROM = 4096
const ZSTD_OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
const PLAIN = Buffer.from([0])
const ZSTD = Buffer.from([1])

/** The key of one attempt to store content. An upload may be tried again, and a key is never used twice. */
export function newBlobKey(id: string, kind: ContentKind) {
  return `${BLOB_PREFIX}${id}/${kind}-${randomText(12)}`
}

export const BLOB_PREFIX = 'state-versions/'

function rowContext(id: string, kind: ContentKind) {
  return `${BLOB_PREFIX}${id}/${kind}`
}

/** The content of a version as a buffer or a stream; undefined when it has none. Verified while it is read. */
export async function openContent(
  app: App,
  version: ContentLocations & { size?: number | null },
  kind: ContentKind,
): Promise<Buffer | Readable | undefined> {
  const location = kind === 'raw' ? version.raw_location : version.json_location
  if (location === null) return undefined
  if (location === IN_ROW) return readRow(app, version, kind)
  const { size } = version
  const shared =
    kind === 'raw' && size != null
      ? await openShared(location, size, async () => app.blobs.read(location, { size }))
      : undefined
  return shared ?? app.blobs.open(location)
}

/** As `openContent`, in memory. */
export async function readContent(
  app: App,
  version: ContentLocations & { size?: number | null },
  kind: ContentKind,
): Promise<Buffer | undefined> {
  const location = kind === 'raw' ? version.raw_location : version.json_location
  if (location === null) return undefined
  if (location !== IN_ROW)
    return app.blobs.read(location, kind === 'raw' && version.size != null ? { size: version.size } : {})
  return readRow(app, version, kind)
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

/** Deletes the blobs of a version. */
export async function deleteContent(app: App, version: ContentLocations) {
  for (const location of [version.raw_location, version.json_location]) {
    if (location !== null && location !== IN_ROW) await app.blobs.delete(location)
  }
}

/**
 * Deletes what was stored for a write that was refused. After any other error the content stays; if no version names it, it is
 * swept.
 */
export async function dropRefused(app: App, contents: readonly (StoredContent | undefined)[], error: unknown) {
  if (!isDefinitelyRejected(error)) return
  for (const stored of contents) if (stored && stored.sealed === undefined) await app.blobs.delete(stored.location)
}

/** How many bytes of content a process holds for downloads at once. */
const TOTAL_BYTES = 24 * 1024 * 1024
/** Larger content (bytes) is a stream always. */
const LARGEST_BYTES = 16 * 1024 * 1024
/** A multiple of what a socket takes at a time. */
const CHUNK_BYTES = 512 * 1024

/** Content in memory for as long as someone is being sent it. */
type Held = { content: Promise<Buffer>; size: number; readers: number }

/**
 * When no room has become free for this long (ms), clients on slow lines hold it: so many of those who wait read streams of their own then.
 */
const STALLED_MS = 250
const LET_GO = 8

const held = new Map<string, Held>()
let heldBytes = 0

/** Readers that wait for room, in the order in which they came. */
const waiting: { enter: () => Held | undefined; resolve: (entry: Held | undefined) => void }[] = []
let stalled: NodeJS.Timeout | undefined

/**
 * A content that never changes, for one more reader. Readers at the same time share it: a state that a dozen runs read at once
 * is decrypted and decompressed once. Where there is no room for it, the reader waits: streams of their own would take more memory, and
 * no less time. Undefined where room does not become free. The stream must be consumed or destroyed.
 */
export async function openShared(
  key: string,
  size: number,
  read: () => Promise<Buffer>,
): Promise<Readable | undefined> {
  if (size > LARGEST_BYTES) return undefined
  const enter = () => entered(key, size, read)
  const entry = (waiting.length === 0 || held.has(key) ? enter() : undefined) ?? (await turn(enter))
  if (!entry) return undefined
  try {
    const stream = Readable.from(slices(await entry.content, CHUNK_BYTES), {
      objectMode: false,
      highWaterMark: CHUNK_BYTES,
    })
    return stream.once('close', () => leave(key, entry))
  } catch (error) {
    leave(key, entry)
    throw error
  }
}

/** The content, counted as read by one more; undefined where there is no room for it. */
function entered(key: string, size: number, read: () => Promise<Buffer>): Held | undefined {
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
  return new Promise<Held | undefined>((resolve) => {
    waiting.push({ enter, resolve })
    if (waiting.length === 1) awaitStall()
  })
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
  awaitStall()
}

function awaitStall() {
  clearTimeout(stalled)
  stalled = waiting.length > 0 ? setTimeout(letGo, STALLED_MS) : undefined
}

function letGo() {
  for (const { resolve } of waiting.splice(0, LET_GO)) resolve(undefined)
  awaitStall()
}

/**
 * Makes a function that does one work after the other, in the order of the calls: large contents, of which only one may be in
 * memory at a time.
 */
export function inTurn() {
  let last: Promise<unknown> = Promise.resolve()
  return async <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
}

/** How many bytes of uploads a process holds in memory at once, besides the few MB that each streamed upload takes. */
const UPLOAD_MEMORY_TOTAL_BYTES = 64 * 1024 * 1024
let free = UPLOAD_MEMORY_TOTAL_BYTES

/** Takes room in memory for an upload of so many bytes, until it is disposed; undefined when there is not enough left. */
export function takeRoom(bytes: number): Disposable | undefined {
  if (bytes > free) return undefined
  free -= bytes
  let isTaken = true
  return {
    [Symbol.dispose]() {
      if (isTaken) free += bytes
      isTaken = false
    },
  }
}
