import type { Readable } from 'node:stream'
import { readArchive } from '@groundstate/contract/archive'
import { AppError, tooLarge } from '../errors.ts'
import type { Blobs } from './blobs.ts'
import { BlobTooLargeError } from './errors.ts'

export const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024

/** Stores an archive, or nothing. Throws `ArchiveError` for one that must not be unpacked, `too-large`, and `bad-request` when it was interrupted. */
export async function putArchive(blobs: Blobs, key: string, archive: Readable) {
  const stored = await blobs.put(key, archive, { maxBytes: MAX_ARCHIVE_BYTES, compress: false }).catch(translate)
  try {
    await readArchive(await blobs.open(key))
  } catch (error) {
    await blobs.delete(key)
    throw error
  }
  return { key, size: stored.size, md5: stored.md5 }
}

function translate(error: unknown): never {
  if (error instanceof BlobTooLargeError)
    throw tooLarge(
      `the archive is larger than ${MAX_ARCHIVE_BYTES} bytes; a .terraformignore file leaves directories out`,
    )
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    throw new AppError('bad-request', [{ detail: 'the upload was interrupted' }], { cause: error })
  throw error
}
