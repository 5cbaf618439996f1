import { gzipSync } from 'node:zlib'
import { Header } from 'tar'

const BLOCK = 512

/** A gzipped tar of files, by path. */
export function archiveOf(files: Readonly<Record<string, string>>) {
  const blocks = Object.entries(files).flatMap(([path, text]) => {
    const content = Buffer.from(text)
    const header = new Header({ path, type: 'File', mode: 0o644, size: content.length, mtime: new Date(0) })
    header.encode()
    return [header.block ?? Buffer.alloc(0), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]))
}
