import type { Readable } from 'node:stream'

/** Metadata of a stored blob. `storedSize` is its sealed size in bytes. */
type StoredBlob = { key: string; storedSize: number; modifiedAt: Date }

const OWN_KEY = /^[a-z-]+\/[a-z]+-[A-Za-z0-9]{16}\//

/** Whether a key has our format, `<kind>/<owner's id>/…`: other applications may use the same bucket. */
export function isOwnKey(key: string) {
  return OWN_KEY.test(key)
}

/**
 * A page of keys, unordered. A listing from `cursor` on has every key not listed before, and may repeat some. It may or may not have blobs
 * that were put or deleted during the listing.
 */
export type KeyPage = { keys: readonly string[]; cursor: string }

/** Sealed bytes up to this size are passed as a buffer, more as a stream. */
export const SMALL_BYTES = 256 * 1024

/** Storage for sealed bytes. Every driver passes the tests in `testing/driver-suite.ts`. */
export type BlobDriver = AsyncDisposable & {
  /** Writes durably, or nothing. Returns the number of bytes. Throws `BlobExistsError`. */
  write(key: string, sealed: Buffer | AsyncIterable<Buffer>): Promise<number>
  /** Throws `BlobNotFoundError`. */
  read(key: string): Promise<Buffer | Readable>
  /** The first bytes of a blob, at most so many; undefined if it is missing. */
  readHead(key: string, bytes: number): Promise<Buffer | undefined>
  /**
   * Replaces an existing blob durably and atomically: a reader gets either the old bytes or the new ones. One that is deleted in the meantime may be
   * written again; the sweep deletes it.
   */
  replace(key: string, sealed: Buffer | AsyncIterable<Buffer>): Promise<void>
  stat(key: string): Promise<StoredBlob | undefined>
  /** Does nothing for a missing blob. */
  delete(key: string): Promise<void>
  /** Keys that begin with `prefix`, from the `cursor` of a page on. */
  list(prefix: string, cursor?: string): AsyncIterable<KeyPage>
  /**
   * Moves blobs put before `before` to their final location until `signal` aborts; returns how many. Deletes what dead processes have left, such as
   * the parts of uploads that were abandoned a day before.
   */
  settle(before: Date, signal: AbortSignal): Promise<number>
}
