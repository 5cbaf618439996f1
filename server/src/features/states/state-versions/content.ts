import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { App } from '../../../app.ts'
import { isSurelyRefused } from '../../../db/db.ts'
import { GrowingBuffer } from '../../../http/growing-buffer.ts'
import { randomText } from '../../../ids.ts'
import { type ContentLocations, findContent } from './content-store.ts'
import { openShared } from './shared-content.ts'

/** The raw state, or `terraform show -json` of it. */
export type ContentKind = 'raw' | 'json'

/**
 * Up to this size (bytes) content is kept sealed in a row, so that it costs no file and no fsync of its own; measured, a
 * row is faster than a file up to several hundred KB.
 */
export const ROW_BYTES = 256 * 1024

/** Of content above this size (bytes), a process has little in memory at a time, however much is uploaded at once. */
export const LARGE_BYTES = 4 * 1024 * 1024

/** Where content is: sealed bytes, which the transaction of its version inserts into a row, or the key of a blob. */
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
export function sealContent(app: App, id: string, kind: ContentKind, content: Buffer): StoredContent {
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
  if (!isSurelyRefused(error)) return
  for (const stored of contents) if (stored && stored.sealed === undefined) await app.blobs.delete(stored.location)
}
