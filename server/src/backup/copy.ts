import { createHash } from 'node:crypto'
import { constants, type FileHandle, open, stat, statfs } from 'node:fs/promises'
import { forEachConcurrently } from '../concurrency-limit.ts'
import { StartError } from '../start-error.ts'

/** Bytes read at once. */
const CHUNK_BYTES = 1024 * 1024

/** Files copied at the same time. More would not be faster on a disk, and slow down the server. */
const CONCURRENCY = 8

/** How a copy or verification gets on. `add` is called as bytes are done; `signal` aborts it. */
export type Watch = { add: (bytes: number) => void; signal: AbortSignal }

export type Copied = { sha256: string; bytes: number }

/**
 * Copies an open file durably to a new one, which only this user may read, and returns its checksum. Without a target, it only computes
 * that. A file that grows meanwhile is copied up to some point, as PostgreSQL's low-level backup allows. Throws EEXIST for an existing target.
 */
export async function copyOpenFile(source: FileHandle, target: string | undefined, watch: Watch): Promise<Copied> {
  const hash = createHash('sha256')
  const { size, mtime } = await source.stat()
  const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(size + 1, 4096)))
  const copy =
    target === undefined
      ? undefined
      : await open(target, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    let bytes = 0
    for (;;) {
      watch.signal.throwIfAborted()
      const { bytesRead } = await source.read(chunk, 0, chunk.length, bytes)
      if (bytesRead === 0) break
      const part = chunk.subarray(0, bytesRead)
      hash.update(part)
      if (copy) await writeAll(copy, part)
      bytes += bytesRead
      watch.add(bytesRead)
    }
    // The sweep of orphans and the next backup compare times.
    await copy?.utimes(mtime, mtime)
    await copy?.datasync()
    return { sha256: hash.digest('hex'), bytes }
  } finally {
    await copy?.close()
  }
}

/** On a full disk a write may be partial; the next one then fails. */
async function writeAll(file: FileHandle, part: Buffer) {
  let written = 0
  while (written < part.length) written += (await file.write(part, written)).bytesWritten
}

/** Like `copyOpenFile`, by path. */
export async function copyFile(source: string, target: string | undefined, watch: Watch): Promise<Copied> {
  await using file = await open(source, 'r')
  return await copyOpenFile(file, target, watch)
}

/** Calls `work` for each file, `CONCURRENCY` at a time. */
export async function forEachFile<T>(files: AsyncIterable<T> | Iterable<T>, work: (file: T) => Promise<void>) {
  return forEachConcurrently(files, CONCURRENCY, work)
}

/** Rejects targets with too little free space before anything is copied. Directories of one file system share its space. */
export async function checkSpace(needs: readonly { directory: string; bytes: number }[]) {
  const needed = new Map<number, number>()
  for (const { directory, bytes } of needs) {
    const { dev } = await stat(directory)
    const total = (needed.get(dev) ?? 0) + bytes
    needed.set(dev, total)
    const { bavail, bsize } = await statfs(directory)
    const free = bavail * bsize
    if (free >= total) continue
    throw new StartError(`${directory} has ${formatBytes(free)} free, and ${formatBytes(total)} are needed`, {
      advice: 'free some space, or choose another directory',
    })
  }
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']

/** A size for people, such as `1.5 GB`. */
export function formatBytes(bytes: number) {
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)))
  return unit === 0 ? `${bytes} bytes` : `${(bytes / 1000 ** unit).toFixed(1)} ${UNITS[unit]}`
}
