import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { normalizedDirectory } from '@groundstate/contract/workspaces'
import { Parser, type ReadEntry } from 'tar'

const MAX_README_BYTES = 256 * 1024

/** The README of a configuration: `README.md` (in any case) of the working directory, else of the root. Undefined if there is none. */
export async function findReadme(archive: Readable, workingDirectory: string) {
  const search = new ReadmeSearch(normalizedDirectory(workingDirectory))
  await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
    for await (const chunk of unpacked) {
      search.push(chunk)
      if (search.isComplete) return
    }
  }).catch((error: unknown) => {
    // An early return aborts the pipeline.
    if (!search.isComplete) throw error
  })
  return search.result()
}

type Match = { path: string; chunks: Buffer[]; size: number; isComplete: boolean }

class ReadmeSearch {
  #directory: string
  #parser = new Parser({ zstd: false, brotli: false })
  #byDirectory = new Map<string, Match>()

  constructor(directory: string) {
    this.#directory = directory
    this.#parser.on('entry', (entry: ReadEntry) => {
      this.#add(entry)
      entry.resume()
    })
  }

  push(chunk: Buffer) {
    this.#parser.write(chunk)
  }

  /** Whether the README of the working directory was read, which takes precedence. */
  get isComplete() {
    return this.#byDirectory.get(this.#directory)?.isComplete ?? false
  }

  result() {
    const match = this.#byDirectory.get(this.#directory) ?? this.#byDirectory.get('')
    if (!match) return undefined
    const bytes = Buffer.concat(match.chunks).subarray(0, MAX_README_BYTES)
    // `stream` drops an incomplete character at the end. The database stores no null bytes.
    const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '\u{FFFD}')
    return { path: match.path, markdown: text, isCut: match.size > MAX_README_BYTES }
  }

  #add(entry: ReadEntry) {
    const path = normalizedDirectory(entry.path)
    const [, directory = '', name = ''] = /^(?:(.*)\/)?([^/]*)$/s.exec(path) ?? []
    if (name.toLowerCase() !== 'readme.md' || !FILE_TYPES.has(entry.type)) return
    if ((directory !== this.#directory && directory !== '') || this.#byDirectory.has(directory)) return
    const match: Match = { path, chunks: [], size: 0, isComplete: false }
    this.#byDirectory.set(directory, match)
    entry.on('data', (chunk: Buffer) => {
      if (match.size < MAX_README_BYTES) match.chunks.push(Buffer.from(chunk))
      match.size += chunk.length
      if (match.size > MAX_README_BYTES) match.isComplete = true
    })
    entry.on('end', () => {
      match.isComplete = true
    })
  }
}

const FILE_TYPES: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile'])
