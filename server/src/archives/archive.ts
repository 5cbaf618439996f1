import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { Parser, type ReadEntry } from 'tar'

/** The archive is invalid. The message names the entry and the reason, for the user who sent it. */
export class ArchiveError extends Error {
  override name = 'ArchiveError'
}

export type ArchiveLimits = {
  /** Maximum number of entries of any kind. */
  maxEntries?: number
  /** Maximum size of the unpacked tar stream, which is slightly more than the sum of its files. */
  maxBytes?: number
}

/** Maximum padding after the end marker, in bytes. The parser, here and on agents, buffers all of it and copies it for each chunk. */
const MAX_PADDING = 1024 * 1024

/**
 * Checks a configuration archive (a gzipped tar, as `terraform` creates it; possibly without entries) as a stream. Throws `ArchiveError` when
 * it is invalid, too large, or has an entry that must not be unpacked (`entryProblem`). Errors of the stream propagate. Returns the number of
 * files and links, and the unpacked size of all files in bytes.
 */
export async function checkArchive(
  archive: Readable | AsyncIterable<Uint8Array>,
  { maxEntries = 100_000, maxBytes = 1024 ** 3 }: ArchiveLimits = {},
) {
  const seen = newSeenEntries()
  const summary = { files: 0, bytes: 0 }
  let problem: ArchiveError | undefined
  let entries = 0
  let unpackedBytes = 0
  let hasEnded = false
  let padding = 0
  const parser = new Parser({ zstd: false, brotli: false })
  parser.on('entry', (entry: ReadEntry) => {
    add(entry)
    entry.resume()
  })
  // Entries that this parser ignores might be unpacked by another one.
  parser.on('ignoredEntry', add)
  parser.on('eof', () => {
    hasEnded = true
  })
  parser.on('warn', (_code: string, message: string) => {
    // The parser reports an archive without entries as invalid.
    if (entries > 0 || !hasEnded) fail(`the archive is not a valid tar: ${lowerFirst(message)}`)
  })
  parser.on('error', (error: Error) => fail(`the archive is not a valid tar: ${lowerFirst(error.message)}`))

  /** Only the first problem counts; the parser still reports the rest of its chunk. */
  function fail(message: string) {
    problem ??= new ArchiveError(message)
  }

  function add(entry: ReadEntry) {
    entries += 1
    if (entries > maxEntries) fail(`the archive holds more than ${maxEntries} entries`)
    if (problem) return
    const reason = entryProblem(entry, seen)
    if (reason !== undefined) return fail(`entry ${JSON.stringify(shortened(entry.path))} ${reason}`)
    summary.bytes += entry.size
    if (entry.type !== 'Directory') summary.files += 1
  }

  function push(chunk: Buffer) {
    // The parser would unzip gzip data inside the archive again, past the limits. No file name begins with this byte.
    if (unpackedBytes === 0 && chunk[0] === 0x1f) throw new ArchiveError('the archive is compressed twice')
    unpackedBytes += chunk.length
    if (unpackedBytes > maxBytes) throw new ArchiveError(`the archive unpacks to more than ${maxBytes} bytes`)
    if (hasEnded) padding += chunk.length
    else parser.write(chunk)
    if (padding > MAX_PADDING)
      throw new ArchiveError(`the archive has more than ${MAX_PADDING} bytes after its end marker`)
    if (problem) throw problem
  }

  try {
    await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
      for await (const chunk of unpacked) push(chunk)
    })
  } catch (error) {
    throw gzipProblem(error) ?? error
  }
  if (unpackedBytes === 0) throw new ArchiveError('the archive is empty, not even a tar without entries')
  parser.end()
  if (problem) throw problem
  return summary
}

function gzipProblem(error: unknown) {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  if (error.code === 'Z_BUF_ERROR') return new ArchiveError('the archive is truncated', { cause: error })
  if (error.code === 'Z_DATA_ERROR') {
    return new ArchiveError(`the archive is not valid gzip: ${error.message}`, { cause: error })
  }
  return undefined
}

function lowerFirst(message: string) {
  const text = message.replace(/^TAR_[A-Z_]+: /, '')
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function shortened(path: string) {
  return path.length > 200 ? `${path.slice(0, 200)}…` : path
}
