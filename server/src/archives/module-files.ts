import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { normalizedDirectory } from '@groundstate/contract/workspaces'
import { Parser, type ReadEntry } from 'tar'

export type ModuleFile = { path: string; text: string; isCut: boolean }
export type ModuleFiles = { files: ModuleFile[]; problems: { path: string; message: string }[] }

const LIMITS = { files: 2000, fileBytes: 512 * 1024, totalBytes: 4 * 1024 * 1024 }
const FILE_TYPES: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile'])
/** Files of the root, of the directories in `modules/` and of those in `examples/` that describe a module. */
const DESCRIBING = /^(?:(?:modules|examples)\/[^/]+\/)?(?:[^/]+\.(?:tf|tofu)(?:\.json)?|readme\.md)$/i

/**
 * The configuration files and READMEs of the modules in an archive, a gzipped tar. Read as a stream, so that the archive is never in
 * memory; files beyond the limits are problems. Errors of the stream propagate.
 */
export async function readModuleFiles(archive: Readable): Promise<ModuleFiles> {
  const found: ModuleFiles = { files: [], problems: [] }
  let total = 0
  const parser = new Parser({ zstd: false, brotli: false })
  parser.on('entry', (entry: ReadEntry) => {
    collect(entry)
    entry.resume()
  })
  let isRead = false
  await pipeline(archive, createGunzip({ chunkSize: 64 * 1024 }), async (unpacked: AsyncIterable<Buffer>) => {
    for await (const chunk of unpacked) parser.write(chunk)
    isRead = true
  }).catch((error: unknown) => {
    // Zeros after the compressed data abort the pipeline.
    if (!isRead) throw error
  })
  return { ...found, files: found.files.toSorted((a, b) => (a.path < b.path ? -1 : 1)) }

  function collect(entry: ReadEntry) {
    const path = normalizedDirectory(entry.path)
    if (!FILE_TYPES.has(entry.type) || !DESCRIBING.test(path)) return
    const problem = problemOf(path, entry.size)
    if (problem) {
      if (!found.problems.some((other) => other.path === problem.path)) found.problems.push(problem)
      return
    }
    const bytes = Math.min(entry.size, LIMITS.fileBytes)
    total += bytes
    const file = { path, text: '', isCut: entry.size > LIMITS.fileBytes }
    found.files.push(file)
    const chunks: Buffer[] = []
    let size = 0
    entry.on('data', (chunk: Buffer) => {
      if (size < bytes) chunks.push(Buffer.from(chunk))
      size += chunk.length
    })
    entry.on('end', () => {
      // `stream` drops an incomplete character at the end. The database stores no null bytes.
      const decoded = new TextDecoder().decode(Buffer.concat(chunks).subarray(0, bytes), { stream: true })
      file.text = decoded.replaceAll('\0', '\u{FFFD}')
    })
  }

  /** Why a file is not read; that the limits of all files are reached is one problem of the archive. */
  function problemOf(path: string, size: number) {
    if (size > LIMITS.fileBytes && !/readme\.md$/i.test(path))
      return { path, message: `not read: the file is larger than ${LIMITS.fileBytes} bytes` }
    if (found.files.length >= LIMITS.files)
      return { path: '', message: `only the first ${LIMITS.files} files of the module were read` }
    if (total + Math.min(size, LIMITS.fileBytes) > LIMITS.totalBytes)
      return { path: '', message: `only files of ${LIMITS.totalBytes} bytes in total were read` }
    return undefined
  }
}
