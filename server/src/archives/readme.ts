import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { normalizedDirectory } from '@groundstate/contract/workspaces'
import { Parser, type ReadEntry } from 'tar'

const MAX_README_BYTES = 256 * 1024

/** The README of a configuration: `README.md` (in any case) of the working directory, else of the root. Undefined if there is none. */
export async function findReadme(archive: Readable, workingDirectory: string) {
  const preferred = normalizedDirectory(workingDirectory)
  const byDirectory = new Map<string, Match>()
  const isFound = () => byDirectory.get(preferred)?.isComplete === true
  const parser = new Parser({ zstd: false, brotli: false })
  parser.on('entry', (entry: ReadEntry) => {
    collect(entry)
    entry.resume()
  })
  let isRead = false
  await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
    for await (const chunk of unpacked) {
      parser.write(chunk)
      if (isFound()) break
    }
    isRead = true
  }).catch((error: unknown) => {
    // An early return aborts the pipeline, as do zeros after the compressed data.
    if (!isRead) throw error
  })
  const match = byDirectory.get(preferred) ?? byDirectory.get('')
  if (!match) return undefined
  const bytes = Buffer.concat(match.chunks).subarray(0, MAX_README_BYTES)
  // `stream` drops an incomplete character at the end. The database stores no null bytes.
  const text = new TextDecoder().decode(bytes, { stream: true }).replaceAll('\0', '\u{FFFD}')
  return { path: match.path, markdown: text, isCut: match.size > MAX_README_BYTES }

  function collect(entry: ReadEntry) {
    const path = normalizedDirectory(entry.path)
    const [, directory = '', name = ''] = /^(?:(.*)\/)?([^/]*)$/s.exec(path) ?? []
    if (name.toLowerCase() !== 'readme.md' || !FILE_TYPES.has(entry.type)) return
    if ((directory !== preferred && directory !== '') || byDirectory.has(directory)) return
    const match: Match = { path, chunks: [], size: 0, isComplete: false }
    byDirectory.set(directory, match)
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

type Match = { path: string; chunks: Buffer[]; size: number; isComplete: boolean }

const FILE_TYPES: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile'])
