import type { ArchiveEntry } from '@groundstate/contract/archive-entry'

/** A file of a configuration; its path has no leading slash. */
export type SourceFile = { path: string; file: Blob & { lastModified?: number } }

const BLOCK = 512

/** Packs files as a tar.gz. Throws the browser's error if a file has been changed or deleted since it was selected. */
export async function packArchive(files: readonly SourceFile[]): Promise<Blob> {
  const chunks = tarChunks(files)
  const tar = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { value, done } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
  return new Response(tar.pipeThrough(new CompressionStream('gzip'))).blob()
}

async function* tarChunks(files: readonly SourceFile[]): AsyncGenerator<Uint8Array<ArrayBuffer>, undefined> {
  for (const { path, file } of files) {
    const content = new Uint8Array(await file.arrayBuffer())
    const seconds = Math.floor((file.lastModified ?? 0) / 1000)
    if (encoded(path).length > 100) {
      const record = paxRecord('path', path)
      yield header({ path: 'pax', size: record.length, type: 'x', seconds })
      yield padded(record)
    }
    yield header({ path, size: content.length, type: '0', seconds })
    yield padded(content)
  }
  yield new Uint8Array(2 * BLOCK)
}

type Header = { path: string; size: number; type: '0' | 'x'; seconds: number }

/** A header of the POSIX ustar format. A path of more than 100 bytes is truncated: a pax record before it has the whole one. */
function header({ path, size, type, seconds }: Header) {
  const block = new Uint8Array(BLOCK)
  const octal = (value: number, length: number) => value.toString(8).padStart(length, '0')
  const put = (offset: number, text: string) => block.set(encoded(text), offset)
  block.set(encoded(path).subarray(0, 100), 0)
  put(100, '0000644')
  put(108, '0000000')
  put(116, '0000000')
  put(124, octal(size, 11))
  put(136, octal(seconds, 11))
  put(148, ' '.repeat(8))
  put(156, type)
  put(257, 'ustar\u{0}00')
  put(
    148,
    `${octal(
      block.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\u{0} `,
  )
  return block
}

/** "27 path=…\n": the number is the length of the whole record, including itself. */
function paxRecord(name: string, value: string) {
  const rest = encoded(` ${name}=${value}\n`).length
  const length = [1, 2, 3, 4, 5].map((digits) => rest + digits).find((sum) => String(sum).length === sum - rest)
  return encoded(`${length} ${name}=${value}\n`)
}

function padded(content: Uint8Array<ArrayBuffer>) {
  const missing = -content.length & (BLOCK - 1)
  if (missing === 0) return content
  const result = new Uint8Array(content.length + missing)
  result.set(content)
  return result
}

function encoded(text: string) {
  return new TextEncoder().encode(text)
}

/** An entry of a tar archive with its headers: the bytes from `start` to `end`. */
type Entry = ArchiveEntry & { size: number; start: number; end: number }
export type Archive = { tar: Uint8Array<ArrayBuffer>; entries: readonly Entry[] }

/** The types that a configuration may have, named as in the contract. */
const TYPES: Readonly<Record<string, string>> = {
  '': 'File',
  '0': 'File',
  '1': 'Link',
  '2': 'SymbolicLink',
  '5': 'Directory',
  '7': 'File',
}

/** The entries of a tar.gz. Throws if it is none. */
export async function readArchive(archive: Blob): Promise<Archive> {
  const unpacked = archive.stream().pipeThrough(new DecompressionStream('gzip'))
  const tar = new Uint8Array(await new Response(unpacked).arrayBuffer())
  if (fieldText(tar, 257, 5) !== 'ustar') throw new Error('it is not a tar archive')
  return { tar, entries: [...entriesOf(tar)] }
}

function* entriesOf(tar: Uint8Array): Generator<Entry, undefined> {
  let start = 0
  let long: { path?: string | undefined; linkpath?: string | undefined } = {}
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0;) {
    const content = at + BLOCK
    const size = Number.parseInt(fieldText(tar, at + 124, 12).trim() || '0', 8)
    const end = content + Math.ceil(size / BLOCK) * BLOCK
    if (!(content + size <= tar.length)) throw new Error('it is truncated')
    const type = fieldText(tar, at + 156, 1)
    // Headers of the next entry, in pax and in GNU format.
    if (type === 'x') long = { ...long, ...paxPaths(fieldText(tar, content, size)) }
    else if (type === 'L') long = { ...long, path: fieldText(tar, content, size) }
    else if (type === 'K') long = { ...long, linkpath: fieldText(tar, content, size) }
    else {
      const path = (long.path ?? ustarPath(tar, at)).replace(/^(?:\.\/)+/, '')
      const linkpath = long.linkpath ?? fieldText(tar, at + 157, 100)
      // A global header is no entry, and belongs to all that follow.
      if (type !== 'g') yield { path, linkpath, type: TYPES[type] ?? type, size, start, end }
      start = end
      long = {}
    }
    at = end
  }
}

function paxPaths(records: string) {
  return Object.fromEntries([...records.matchAll(/^\d+ (path|linkpath)=(.*)$/gm)].map(([, key, text]) => [key, text]))
}

/** GNU archives, whose magic ends with a space, have other data in place of the prefix. */
function ustarPath(tar: Uint8Array, at: number) {
  const prefix = fieldText(tar, at + 257, 6) === 'ustar' ? fieldText(tar, at + 345, 155) : ''
  return `${prefix && `${prefix}/`}${fieldText(tar, at, 100)}`
}

/** The text of a field, which ends with a zero byte unless it is full. */
function fieldText(tar: Uint8Array, at: number, length: number) {
  const field = tar.subarray(at, at + length)
  const end = field.indexOf(0)
  return new TextDecoder().decode(end === -1 ? field : field.subarray(0, end))
}

/** The text of a file in an archive. */
export function entryText({ tar }: Archive, { size, end }: Entry) {
  const start = end - Math.ceil(size / BLOCK) * BLOCK
  return new TextDecoder().decode(tar.subarray(start, start + size))
}

/** A tar.gz without some of its entries. The others are copied unchanged, with their modes and links. */
export async function repackArchive({ tar }: Archive, leftOut: readonly Entry[]): Promise<Blob> {
  const bounds = [0, ...leftOut.flatMap(({ start, end }) => [start, end]), tar.length]
  const kept = bounds.flatMap((at, index) => (index % 2 === 0 ? tar.subarray(at, bounds[index + 1]) : []))
  return new Response(new Blob(kept).stream().pipeThrough(new CompressionStream('gzip'))).blob()
}
