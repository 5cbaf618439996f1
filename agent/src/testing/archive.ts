import { gzipSync } from 'node:zlib'
import { Header } from 'tar'

/** A tar.gz of these files. Entries are written directly, so that they may be links or escape the directory. */
export function archiveOf(files: Record<string, string | { link: string }>): Buffer {
  const blocks = Object.entries(files).flatMap(([path, content]) => {
    const bytes = Buffer.from(typeof content === 'string' ? content : '')
    const header = new Header({
      path,
      mode: 0o644,
      size: bytes.length,
      mtime: new Date(0),
      ...(typeof content === 'string' ? { type: 'File' } : { type: 'SymbolicLink', linkpath: content.link }),
    })
    header.encode()
    return [header.block ?? Buffer.alloc(0), bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]))
}
