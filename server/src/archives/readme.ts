import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { workingFolder } from '@groundstate/contract/workspaces'
import { Parser, type ReadEntry } from 'tar'

/** Longer texts are cut, in bytes. */
export const MAX_README_BYTES = 256 * 1024

export type Readme = { path: string; markdown: string; isCut: boolean }

/**
 * The README of a configuration: `README.md` in any case, of the working directory, else of the root. The archive streams through
 * and no more of it is kept than the text. Undefined when there is none.
 */
export async function findReadme(archive: Readable, workingDirectory: string): Promise<Readme | undefined> {
  const wanted = new ReadmeSearch(workingFolder(workingDirectory))
  await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
    for await (const piece of unpacked) {
      wanted.push(piece)
      if (wanted.isOver) return
    }
  }).catch((error: unknown) => {
    // The rest of the archive is not read.
    if (!wanted.isOver) throw error
  })
  return wanted.found()
}

type Found = { path: string; pieces: Buffer[]; size: number; isComplete: boolean }

class ReadmeSearch {
  #folder: string
  #parser = new Parser({ zstd: false, brotli: false })
  #byFolder = new Map<string, Found>()

  constructor(folder: string) {
    this.#folder = folder
    this.#parser.on('entry', (entry: ReadEntry) => {
      this.#look(entry)
      entry.resume()
    })
  }

  push(piece: Buffer) {
    this.#parser.write(piece)
  }

  /** Nothing that comes later could be preferred. */
  get isOver() {
    return this.#byFolder.get(this.#folder)?.isComplete ?? false
  }

  found(): Readme | undefined {
    const found = this.#byFolder.get(this.#folder) ?? this.#byFolder.get('')
    if (!found) return undefined
    const bytes = Buffer.concat(found.pieces).subarray(0, MAX_README_BYTES)
    // Half a character at the cut is left out. The database stores no null bytes.
    const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '\u{FFFD}')
    return { path: found.path, markdown: text, isCut: found.size > MAX_README_BYTES }
  }

  #look(entry: ReadEntry) {
    const path = workingFolder(entry.path)
    const [, folder = '', name = ''] = /^(?:(.*)\/)?([^/]*)$/s.exec(path) ?? []
    if (name.toLowerCase() !== 'readme.md' || !isFile(entry)) return
    if ((folder !== this.#folder && folder !== '') || this.#byFolder.has(folder)) return
    const found: Found = { path, pieces: [], size: 0, isComplete: false }
    this.#byFolder.set(folder, found)
    entry.on('data', (piece: Buffer) => {
      if (found.size < MAX_README_BYTES) found.pieces.push(Buffer.from(piece))
      found.size += piece.length
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
