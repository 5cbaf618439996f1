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

/** Paths and sizes of the files in a tar.gz. Throws if it is none. */
export async function listArchive(archive: Blob): Promise<{ path: string; size: number }[]> {
  const { parseTar } = await import('nanotar')
  const tar = await new Response(archive.stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer()
  if (new TextDecoder('latin1').decode(tar.slice(257, 262)) !== 'ustar') throw new Error('it is not a tar archive')
  return parseTar(tar, { metaOnly: true })
    .filter(({ type }) => type === 'file')
    .map(({ name, size }) => ({ path: name.replace(/^\.\//, ''), size }))
}
