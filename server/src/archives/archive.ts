import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { entryProblem, newSeenEntries } from '@groundstate/contract/archive-entry'
import { Parser, type ReadEntry } from 'tar'

/** The archive is refused; the message names the entry and says why, for the user who sent it. */
export class ArchiveError extends Error {
  override name = 'ArchiveError'
}

export type ArchiveLimits = {
  /** Entries of any kind. */
  maxEntries?: number
  /** Of the unpacked tar stream, which is a little more than its files together. */
  maxBytes?: number
}

export type ArchiveSummary = {
  /** Files and links, without directories. */
  files: number
  /** Of all files together, unpacked. */
  bytes: number
}

/**
 * Checks a configuration archive (gzip tar, as `terraform` packs it; it may hold nothing) while it streams by, without
 * unpacking it to the disk. Throws `ArchiveError` for what is no such archive, is too large, or holds an entry that must
 * not be unpacked (see `entryProblem`); errors of the stream itself pass through.
 */
export async function checkArchive(
  archive: Readable | AsyncIterable<Uint8Array>,
  { maxEntries = 100_000, maxBytes = 1024 ** 3 }: ArchiveLimits = {},
): Promise<ArchiveSummary> {
  const check = new ArchiveCheck(maxEntries, maxBytes)
  try {
    await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
      for await (const piece of unpacked) check.push(piece)
    })
  } catch (error) {
    throw gzipProblem(error) ?? error
  }
  return check.end()
}

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

  constructor(maxEntries: number, maxBytes: number) {
    this.#maxEntries = maxEntries
    this.#maxBytes = maxBytes
    this.#parser = new Parser({ zstd: false, brotli: false })
    this.#parser.on('entry', (entry: ReadEntry) => {
      this.#add(entry)
      entry.resume()
    })
    // Kinds that the parser skips: to skip one silently would let two readers of an archive see different files.
    this.#parser.on('ignoredEntry', (entry: ReadEntry) => this.#add(entry))
    this.#parser.on('eof', () => {
      this.#sawEnd = true
    })
    this.#parser.on('warn', (_code: string, message: string) => {
      // To the parser, an archive of nothing but its end mark looks like none.
      if (this.#entries === 0 && this.#sawEnd) return
      this.#problem ??= new ArchiveError(`the archive is not a valid tar: ${lowerFirst(message)}`)
    })
    this.#parser.on('error', (error: Error) => {
      this.#problem ??= new ArchiveError(`the archive is not a valid tar: ${lowerFirst(error.message)}`)
    })
  }

  push(piece: Buffer) {
    // The parser would unzip what begins like gzip once more, past the limits; no name of a file begins so.
    if (this.#unpackedBytes === 0 && piece[0] === 0x1f) {
      throw new ArchiveError('the archive is compressed twice')
    }
    this.#unpackedBytes += piece.length
    if (this.#unpackedBytes > this.#maxBytes) {
      throw new ArchiveError(`the archive unpacks to more than ${this.#maxBytes} bytes`)
    }
    this.#parser.write(piece)
    if (this.#problem) throw this.#problem
  }

  end(): ArchiveSummary {
    if (this.#unpackedBytes === 0) throw new ArchiveError('the archive is empty, not even a tar without entries')
    this.#parser.end()
    if (this.#problem) throw this.#problem
    return { files: this.#files, bytes: this.#bytes }
  }

  #add(entry: ReadEntry) {
    this.#entries++
    if (this.#entries > this.#maxEntries) {
      this.#problem ??= new ArchiveError(`the archive holds more than ${this.#maxEntries} entries`)
    }
    // After the first problem nothing counts, but the parser still empties the piece it has.
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
  if (error.code === 'Z_BUF_ERROR') return new ArchiveError('the archive is cut off', { cause: error })
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
