import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { readArchive } from '@groundstate/contract/archive'
import { AppError, tooLarge } from '../errors.ts'
import type { Blobs } from './blobs.ts'
import { BlobTooLargeError } from './errors.ts'

export const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024
const TOO_LARGE = `the archive is larger than ${MAX_ARCHIVE_BYTES} bytes; a .terraformignore file leaves directories out`

/** Stores an archive, or nothing. Throws `ArchiveError` for one that must not be unpacked, `too-large`, and `bad-request` when it was interrupted. */
export async function putArchive(blobs: Blobs, key: string, archive: Readable) {
  const stored = await blobs
    .put(key, archive, { maxBytes: MAX_ARCHIVE_BYTES, compress: false })
    .catch((error: unknown) => throwUploadError(error, TOO_LARGE))
  try {
    await readArchive(await blobs.open(key))
  } catch (error) {
    await blobs.delete(key)
    throw error
  }
  return { key, size: stored.size, md5: stored.md5 }
}

/** Throws the error of a failed upload as that of its client: `too-large` with this detail, or `bad-request` when it was interrupted. */
export function throwUploadError(error: unknown, tooLargeDetail: string): never {
  if (error instanceof BlobTooLargeError) throw tooLarge(tooLargeDetail)
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    throw new AppError('bad-request', [{ detail: 'the upload was interrupted' }], { cause: error })
  throw error
}

/** The hash of a body, in hex. The body stays open, for the response. */
export async function hashOf(algorithm: 'md5' | 'sha256', body: Readable) {
  const hash = createHash(algorithm)
  for await (const chunk of body.iterator({ destroyOnReturn: false })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
