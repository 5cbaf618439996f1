import type { Readable } from 'node:stream'

/** Metadata of a stored blob. `storedSize` is its sealed size in bytes. */
export type StoredBlob = { key: string; storedSize: number; modifiedAt: Date }

/**
 * Some keys of a listing, unordered. A listing that continues at `cursor` has every key not listed by then,
 * and perhaps some again. What is put or deleted meanwhile may be in it or not.
 */
export type KeyPage = { keys: readonly string[]; cursor: string }

/** Sealed bytes up to this size are passed as one buffer, more as a stream. */
export const SMALL_BYTES = 256 * 1024

/**
 * Storage for sealed bytes; it knows neither secrets nor compression. Every driver passes the tests in
 * `driver-suite.ts`.
 */
export type BlobDriver = AsyncDisposable & {
  /**
   * Durable when it resolves to the number of bytes written. Throws `BlobExistsError`; a failed write leaves nothing.
   */
  write(key: string, sealed: Buffer | AsyncIterable<Buffer>): Promise<number>
  /** A buffer of up to `SMALL_BYTES`, else a stream. Throws `BlobNotFoundError`. */
  read(key: string): Promise<Buffer | Readable>
  stat(key: string): Promise<StoredBlob | undefined>
  /** Deleting a missing blob is no error. */
  delete(key: string): Promise<void>
  /** The keys that begin with `prefix`, after `cursor`; see `KeyPage`. */
  list(prefix: string, cursor?: string): AsyncIterable<KeyPage>
  /** Puts blobs from before `before` where many of them find room, until `signal` aborts. Returns how many were moved. */
  settle(before: Date, signal: AbortSignal): Promise<number>
}
