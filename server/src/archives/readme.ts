import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { normalizedDirectory } from '@groundstate/contract/workspaces'
import { Parser, type ReadEntry } from 'tar'

/** Longer texts are cut, in bytes. */
export const MAX_README_BYTES = 256 * 1024

export type Readme = { path: string; markdown: string; isCut: boolean }

/**
 * The README of a configuration: `README.md` in any case, of the working directory, else of the root. The archive streams through
 * and no more of it is kept than the text. Undefined when there is none.
 */
export async function findReadme(archive: Readable, workingDirectory: string): Promise<Readme | undefined> {
  const wanted = new ReadmeSearch(normalizedDirectory(workingDirectory))
  await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
    for await (const chunk of unpacked) {
      wanted.push(chunk)
      if (wanted.isOver) return
    }
  }).catch((error: unknown) => {
    // The rest of the archive is not read.
    if (!wanted.isOver) throw error
  })
  return wanted.found()
}

type Found = { path: string; chunks: Buffer[]; size: number; isComplete: boolean }

class ReadmeSearch {
  #directory: string
  #parser = new Parser({ zstd: false, brotli: false })
  #byDirectory = new Map<string, Found>()

  constructor(directory: string) {
    this.#directory = directory
    this.#parser.on('entry', (entry: ReadEntry) => {
      this.#look(entry)
      entry.resume()
    })
  }

  push(chunk: Buffer) {
    this.#parser.write(chunk)
  }

  /** Nothing that comes later could be preferred. */
  get isOver() {
    return this.#byDirectory.get(this.#directory)?.isComplete ?? false
  }

  found(): Readme | undefined {
    const found = this.#byDirectory.get(this.#directory) ?? this.#byDirectory.get('')
    if (!found) return undefined
    const bytes = Buffer.concat(found.chunks).subarray(0, MAX_README_BYTES)
    // Half a character at the cut is left out. The database stores no null bytes.
    const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '\u{FFFD}')
    return { path: found.path, markdown: text, isCut: found.size > MAX_README_BYTES }
  }

  #look(entry: ReadEntry) {
    const path = normalizedDirectory(entry.path)
    const [, directory = '', name = ''] = /^(?:(.*)\/)?([^/]*)$/s.exec(path) ?? []
    if (name.toLowerCase() !== 'readme.md' || !isFile(entry)) return
    if ((directory !== this.#directory && directory !== '') || this.#byDirectory.has(directory)) return
    const found: Found = { path, chunks: [], size: 0, isComplete: false }
    this.#byDirectory.set(directory, found)
    entry.on('data', (chunk: Buffer) => {
      if (found.size < MAX_README_BYTES) found.chunks.push(Buffer.from(chunk))
      found.size += chunk.length
      if (found.size > MAX_README_BYTES) found.isComplete = true
    })
    entry.on('end', () => {
      found.isComplete = true
    })
  }
}

function isFile({ type }: ReadEntry) {
  return type === 'File' || type === 'OldFile' || type === 'ContiguousFile'
}
