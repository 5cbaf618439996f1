import type { Readable } from 'node:stream'
import { blobBytes, blobErrors, blobSeconds } from '../metrics.ts'
import type { BlobDriver } from './driver.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'

/** A driver whose reads, writes and deletions are measured. Reads of streams are counted by `countReads`. */
export function measureDriver(driver: BlobDriver): BlobDriver {
  return {
    ...driver,
    write: async (key, sealed) => {
      const size = await measured('write', async () => driver.write(key, sealed))
      blobBytes.inc({ operation: 'write' }, size)
      return size
    },
    read: async (key) => {
      const stored = await measured('read', async () => driver.read(key))
      if (Buffer.isBuffer(stored)) blobBytes.inc({ operation: 'read' }, stored.length)
      return stored
    },
    delete: async (key) => measured('delete', async () => driver.delete(key)),
  }
}

/** The stored bytes, counted as they are read if they are a stream. */
export async function* countReads(stored: Buffer | Readable): AsyncGenerator<Buffer, void> {
  if (Buffer.isBuffer(stored)) return yield stored
  for await (const chunk of stored as AsyncIterable<Buffer>) {
    blobBytes.inc({ operation: 'read' }, chunk.length)
    yield chunk
  }
}

async function measured<T>(operation: string, work: () => Promise<T>): Promise<T> {
  const endTimer = blobSeconds.startTimer({ operation })
  try {
    return await work()
  } catch (error) {
    // Expected: a repeated upload, and content that retention has deleted.
    if (!(error instanceof BlobExistsError || error instanceof BlobNotFoundError)) blobErrors.inc({ operation })
    throw error
  } finally {
    endTimer()
  }
}
