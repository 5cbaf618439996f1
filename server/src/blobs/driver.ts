import type { Readable } from 'node:stream'

/** What is known of a stored blob without opening it. `storedSize` is in bytes, compressed and sealed. */
export type StoredBlob = { key: string; storedSize: number; modifiedAt: Date }

/** Sealed bytes up to this size travel as one buffer, larger ones as a stream. */
export const SMALL_BYTES = 256 * 1024

/**
 * Where sealed bytes are kept; it knows neither secrets nor compression. Every driver passes the suite in
 * `driver-suite.ts`.
 */
export type BlobDriver = AsyncDisposable & {
  /** Durable when it resolves with the bytes written. Throws `BlobExistsError`; a failed write leaves nothing. */
  write(key: string, sealed: Buffer | AsyncIterable<Buffer>): Promise<number>
  /** A buffer up to `SMALL_BYTES`, else a stream. Throws `BlobNotFoundError`. */
  read(key: string): Promise<Buffer | Readable>
  stat(key: string): Promise<StoredBlob | undefined>
  /** Deleting what is not there is no error. */
  delete(key: string): Promise<void>
  /** In no particular order. */
  list(prefix: string): AsyncIterable<StoredBlob>
}
