import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { Parser, type ReadEntry } from 'tar'
import { entryProblem, newSeenEntries } from './archive-entry.ts'

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

/** Maximum padding after the end marker, in bytes. The parser buffers all of it and copies it for each chunk. */
const MAX_PADDING = 1024 * 1024

/** Creates a parser; it may add options to these. */
type OpenParser = (options: { zstd: false; brotli: false; filter: (path: string, entry: unknown) => boolean }) => Parser

const openParser: OpenParser = (options) => new Parser({ ...options, onReadEntry: (entry) => entry.resume() })

/**
 * Reads a configuration archive (a gzipped tar, as `terraform` creates it; possibly without entries) as a stream. The server checks an
 * upload with it, and agents unpack with it, so they accept the same archives. Throws `ArchiveError` when the archive is invalid, too large,
 * or has an entry that must not be unpacked (`entryProblem`), which the parser does not get. Errors of the stream and of writing files
 * propagate. Returns the number of files and links, and the unpacked size of all files in bytes.
 */
export async function readArchive(
  archive: Readable | AsyncIterable<Uint8Array>,
  { maxEntries = 100_000, maxBytes = 1024 ** 3 }: ArchiveLimits = {},
  open = openParser,
) {
  const seen = newSeenEntries()
  const summary = { files: 0, bytes: 0 }
  const checked = new WeakSet<ReadEntry>()
  let entries = 0
  let problem: Error | undefined
  let unpackedBytes = 0
  let hasEnded = false
  let padding = 0
  const parser = open({ zstd: false, brotli: false, filter: (_path, entry) => accepts(entry as ReadEntry) })
  const closed = Promise.withResolvers<void>()
  parser.once('close', closed.resolve)
  // Entries that this parser ignores might be unpacked by another one.
  parser.on('ignoredEntry', accepts)
  parser.on('eof', () => {
    hasEnded = true
  })
  parser.on('warn', (code: string, message: string, cause: unknown) => {
    if (code === 'TAR_ENTRY_ERROR') problem ??= new Error(`the archive cannot be unpacked: ${message}`, { cause })
    else failTar(message)
  })
  parser.on('error', (error: Error) => {
    if (error.name !== 'CwdError') return failTar(error.message)
    // Without the directory to unpack into, the parser neither drains nor closes.
    problem ??= new Error(`the archive cannot be unpacked: ${error.message}`, { cause: error })
    closed.resolve()
  })

  /** Only the first problem counts; the parser still reports the rest of its chunk. */
  function fail(message: string) {
    problem ??= new ArchiveError(message)
  }

  function failTar(message: string) {
    // The parser reports an archive without entries as invalid.
    if (entries > 0 || !hasEnded) fail(`the archive is not a valid tar: ${lowerFirst(message)}`)
  }

  function accepts(entry: ReadEntry): boolean {
    if (problem !== undefined || checked.has(entry)) return false
    checked.add(entry)
    entries += 1
    if (entries > maxEntries) fail(`the archive holds more than ${maxEntries} entries`)
    const reason = entryProblem(entry, seen)
    if (reason !== undefined) fail(`entry ${JSON.stringify(shortened(entry.path))} ${reason}`)
    summary.bytes += entry.size
    if (entry.type !== 'Directory') summary.files += 1
    return problem === undefined
  }

  async function push(chunk: Buffer) {
    // The parser would unzip gzip data inside the archive again, past the limits. No file name begins with this byte.
    if (unpackedBytes === 0 && chunk[0] === 0x1f) throw new ArchiveError('the archive is compressed twice')
    unpackedBytes += chunk.length
    if (unpackedBytes > maxBytes) throw new ArchiveError(`the archive unpacks to more than ${maxBytes} bytes`)
    if (hasEnded) padding += chunk.length
    else if (!parser.write(chunk) && problem === undefined)
      await Promise.race([new Promise((resolve) => void parser.once('drain', resolve)), closed.promise])
    if (padding > MAX_PADDING)
      throw new ArchiveError(`the archive has more than ${MAX_PADDING} bytes after its end marker`)
    if (problem) throw problem
  }

  let isComplete = false
  try {
    await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
      for await (const chunk of unpacked) await push(chunk)
      isComplete = true
    })
  } catch (error) {
    problem ??= gzipProblem(error)
    // Zeros after the compressed data end it, as for gzip, before the stream has ended.
    if (!isComplete) throw problem ?? error
  } finally {
    // Completes and closes the file that is being written.
    parser.end()
    await closed.promise
  }
  if (unpackedBytes === 0) throw new ArchiveError('the archive is empty, not even a tar without entries')
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
