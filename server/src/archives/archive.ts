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

/** `files` is the number of files and links, `bytes` the unpacked size of all files. */
type ArchiveSummary = { files: number; bytes: number }

/**
 * Checks a configuration archive (a gzipped tar, as `terraform` creates it; possibly without entries) as a stream. Throws `ArchiveError` when
 * it is invalid, too large, or has an entry that must not be unpacked (`entryProblem`). Errors of the stream propagate.
 */
export async function checkArchive(
  archive: Readable | AsyncIterable<Uint8Array>,
  { maxEntries = 100_000, maxBytes = 1024 ** 3 }: ArchiveLimits = {},
): Promise<ArchiveSummary> {
  const check = new ArchiveCheck(maxEntries, maxBytes)
  try {
    await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
      for await (const chunk of unpacked) check.push(chunk)
    })
  } catch (error) {
    throw gzipProblem(error) ?? error
  }
  return check.end()
}

/** Maximum padding after the end marker, in bytes. The parser, here and on agents, buffers all of it and copies it for each chunk. */
const MAX_PADDING = 1024 * 1024

class ArchiveCheck {
  #maxEntries: number
  #maxBytes: number
  #parser: Parser
  #seen = newSeenEntries()
  #problem: ArchiveError | undefined
  #unpackedBytes = 0
  #entries = 0
  #files = 0
  #bytes = 0
  #sawEnd = false
  #padding = 0

  constructor(maxEntries: number, maxBytes: number) {
    this.#maxEntries = maxEntries
    this.#maxBytes = maxBytes
    this.#parser = new Parser({ zstd: false, brotli: false })
    this.#parser.on('entry', (entry: ReadEntry) => {
      this.#add(entry)
      entry.resume()
    })
    // Entries that this parser ignores might be unpacked by another one.
    this.#parser.on('ignoredEntry', (entry: ReadEntry) => this.#add(entry))
    this.#parser.on('eof', () => {
      this.#sawEnd = true
    })
    this.#parser.on('warn', (_code: string, message: string) => {
      // The parser reports an archive without entries as invalid.
      if (this.#entries === 0 && this.#sawEnd) return
      this.#problem ??= new ArchiveError(`the archive is not a valid tar: ${lowerFirst(message)}`)
    })
    this.#parser.on('error', (error: Error) => {
      this.#problem ??= new ArchiveError(`the archive is not a valid tar: ${lowerFirst(error.message)}`)
    })
  }

  push(chunk: Buffer) {
    // The parser would unzip gzip data inside the archive again, past the limits. No file name begins with this byte.
    if (this.#unpackedBytes === 0 && chunk[0] === 0x1f) {
      throw new ArchiveError('the archive is compressed twice')
    }
    this.#unpackedBytes += chunk.length
    if (this.#unpackedBytes > this.#maxBytes) {
      throw new ArchiveError(`the archive unpacks to more than ${this.#maxBytes} bytes`)
    }
    if (this.#sawEnd) this.#pad(chunk)
    else this.#parser.write(chunk)
    if (this.#problem) throw this.#problem
  }

  end(): ArchiveSummary {
    if (this.#unpackedBytes === 0) throw new ArchiveError('the archive is empty, not even a tar without entries')
    this.#parser.end()
    if (this.#problem) throw this.#problem
    return { files: this.#files, bytes: this.#bytes }
  }

  #pad(chunk: Buffer) {
    this.#padding += chunk.length
    if (this.#padding > MAX_PADDING) {
      throw new ArchiveError(`the archive has more than ${MAX_PADDING} bytes after its end marker`)
    }
  }

  #add(entry: ReadEntry) {
    this.#entries++
    if (this.#entries > this.#maxEntries) {
      this.#problem ??= new ArchiveError(`the archive holds more than ${this.#maxEntries} entries`)
    }
    // Only the first problem counts; the parser still reports the rest of its chunk.
    if (this.#problem) return
    const problem = entryProblem(entry, this.#seen)
    if (problem !== undefined) {
      this.#problem = new ArchiveError(`entry ${JSON.stringify(shortened(entry.path))} ${problem}`)
      return
    }
    this.#bytes += entry.size
    if (entry.type !== 'Directory') this.#files++
  }
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
