import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { hasEnded, pidScope } from '@groundstate/agent/process/process-id'
import { makeDirectory } from '../directory.ts'
import { syncDirectory } from '../durable-file.ts'
import { codeOf, ignoring } from '../error-code.ts'
import { fileSystemTime } from '../file-lease.ts'
import { diskLayout, moveToShard, moveToShards, statIfExists, unlinkIfExists } from './disk-shards.ts'
import { type BlobDriver, SMALL_BYTES } from './driver.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'
import { deleteHeld, heldDirectory, isHeld, removeName } from './hold.ts'

/**
 * Blobs as files. A blob is written to a temporary file, fsynced and linked to its name in one of a few directories; unlike a rename, a link
 * fails if the name exists. Concurrent puts share the fsync of the directory. Later the blob moves to one of many shards, where
 * each put would need a separate fsync.
 */
export async function openDiskDriver(root: string): Promise<BlobDriver> {
  const objects = join(root, 'objects')
  const layout = diskLayout(objects)
  const { directories, locate } = layout
  for (const directory of [root, objects, heldDirectory(root), ...directories]) await makeDirectory(directory, 0o700)
  for (const directory of [objects, root]) await syncDirectory(directory)
  const parent = join(root, 'tmp')
  const temporary = await openTemporaryDirectory(parent)
  const newTemporaryPath = () => join(temporary.path, randomBytes(12).toString('base64url'))
  const syncs = await Promise.all(directories.map(openDirectorySync))

  return {
    async write(key, sealed) {
      const { directory, newPath, shardPath } = locate(key)
      const temporaryPath = newTemporaryPath()
      try {
        const size = await writeFile(temporaryPath, sealed)
        if (await statIfExists(shardPath)) throw new BlobExistsError(key)
        await link(temporaryPath, newPath)
        try {
          // An older blob may have moved to its shard since the first check; now that `newPath` is taken, none can.
          const [isTaken] = await Promise.all([statIfExists(shardPath), syncs[directory]?.sync()])
          if (isTaken) throw new BlobExistsError(key)
        } catch (error) {
          await unlink(newPath).catch(() => {})
          throw error
        }
        return size
      } catch (error) {
        throw codeOf(error) === 'EEXIST' ? new BlobExistsError(key) : error
      } finally {
        // Not awaited: files left by a crash are removed later.
        unlink(temporaryPath).catch(() => {})
      }
    },

    async read(key) {
      const { newPath, shardPath } = locate(key)
      const handle = (await ignoring('ENOENT', open(newPath, 'r'))) ?? (await ignoring('ENOENT', open(shardPath, 'r')))
      if (!handle) throw new BlobNotFoundError(key)
      try {
        const { size } = await handle.stat()
        if (size > SMALL_BYTES) return handle.createReadStream({ highWaterMark: SMALL_BYTES })
        const content = Buffer.allocUnsafeSlow(size)
        const { bytesRead } = await handle.read(content, 0, size, 0)
        await handle.close()
        return content.subarray(0, bytesRead)
      } catch (error) {
        await handle.close()
        throw error
      }
    },

    async readHead(key, bytes) {
      const { newPath, shardPath } = locate(key)
      const handle = (await ignoring('ENOENT', open(newPath, 'r'))) ?? (await ignoring('ENOENT', open(shardPath, 'r')))
      if (!handle) return undefined
      await using opened = handle
      const { buffer, bytesRead } = await opened.read(Buffer.alloc(bytes), 0, bytes, 0)
      return buffer.subarray(0, bytesRead)
    },

    async replace(key, sealed) {
      const location = locate(key)
      const { shard, shardPath, directory } = location
      const temporaryPath = newTemporaryPath()
      try {
        await writeFile(temporaryPath, sealed)
        // In its shard, the blob keeps its name: a move by another process never replaces a name there.
        await moveToShard(directories[directory] ?? objects, location)
        if (!(await statIfExists(shardPath))) return
        await rename(temporaryPath, shardPath)
        await syncDirectory(shard)
      } finally {
        await unlinkIfExists(temporaryPath)
      }
    },

    async stat(key) {
      const { newPath, shardPath } = locate(key)
      const file = (await statIfExists(newPath)) ?? (await statIfExists(shardPath))
      return file && { key, storedSize: file.size, modifiedAt: file.mtime }
    },

    async delete(key) {
      const { directory, newPath, shard, shardPath } = locate(key)
      const held = (await isHeld(root)) ? join(heldDirectory(root), basename(newPath)) : undefined
      // In this order: a move adds `shardPath` before it removes `newPath`.
      if (await removeName(newPath, held)) await syncs[directory]?.sync()
      if (await removeName(shardPath, held)) await syncDirectory(shard)
    },

    list: (prefix, cursor) => layout.list(prefix, cursor),
    async settle(before, signal) {
      await deleteHeld(root)
      await removeAbandoned(parent)
      return moveToShards(layout, before, signal)
    },

    async [Symbol.asyncDispose]() {
      for (const sync of syncs) await sync.close()
      await temporary.end()
    },
  }
}

async function writeFile(path: string, content: Buffer | AsyncIterable<Buffer>): Promise<number> {
  // O_DSYNC writes and syncs one buffer with one system call.
  const sync = Buffer.isBuffer(content) ? constants.O_DSYNC : 0
  await using handle = await createFile(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | sync)
  if (Buffer.isBuffer(content)) return await writeAll(handle, [content])

  let size = 0
  let batch: Buffer[] = []
  let batchBytes = 0
  for await (const chunk of content) {
    batch.push(chunk)
    batchBytes += chunk.length
    if (batchBytes < 1024 * 1024) continue
    size += await writeAll(handle, batch)
    batch = []
    batchBytes = 0
  }
  size += await writeAll(handle, batch)
  await handle.datasync()
  return size
}

/** The directory is missing if another process regarded this one as dead. */
async function createFile(path: string, flags: number) {
  const handle = await ignoring('ENOENT', open(path, flags, 0o600))
  if (handle) return handle
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  return open(path, flags, 0o600)
}

/** On a full disk, `writev` may write only a part; appending the rest then reports the error. */
async function writeAll(handle: FileHandle, parts: Buffer[]): Promise<number> {
  if (parts.length === 0) return 0
  const total = parts.reduce((sum, part) => sum + part.length, 0)
  const { bytesWritten } = await handle.writev(parts)
  if (bytesWritten < total) await handle.appendFile(Buffer.concat(parts).subarray(bytesWritten))
  return total
}

/** Fsyncs a directory, without which new names do not survive a power cut. Callers that arrive during a sync share the next one. */
async function openDirectorySync(path: string) {
  const handle = await open(path, 'r')
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function syncAfterRunning() {
    // A running sync may have started before the caller's name existed.
    await running?.catch(() => {})
    running = next
    next = undefined
    await handle.sync()
  }

  return {
    /** Resolves when all names that existed at the call are durable. */
    sync: () => (next ??= syncAfterRunning()),
    async close() {
      await next?.catch(() => {})
      await running?.catch(() => {})
      await handle.close()
    },
  }
}

/** Age from which a directory counts as abandoned, in ms. */
const STALE_MS = 3_600_000
/** That of a server of an earlier release, which creates its directory once, renews it only with blobs and cannot write without it. */
const EARLIER_STALE_MS = 7 * 24 * 3_600_000
/** Interval at which the time of the directory is renewed, in ms. */
const RENEWAL_MS = 300_000

/** Directory of this process for unfinished files, named after it. `end` removes it. */
async function openTemporaryDirectory(parent: string) {
  const name = `${await pidScope()}.${process.pid}.${randomBytes(6).toString('hex')}`
  const path = join(parent, name)
  own.add(name)
  await mkdir(path, { recursive: true, mode: 0o700 })
  // Changes the time of the directory, if it was not removed.
  const timer = setInterval(() => void fileSystemTime(path).catch(() => {}), RENEWAL_MS).unref()
  return {
    path,
    async end() {
      clearInterval(timer)
      await rm(path, { recursive: true, force: true })
      own.delete(name)
    },
  }
}

/** Directories of this process, which may open several drivers (tests do). */
const own = new Set<string>()

/**
 * Removes the directories of dead processes: of those whose ids are valid here, and of others after an hour without changes. A live one that was paused
 * creates its directory again. Earlier releases name theirs after the host.
 */
async function removeAbandoned(parent: string) {
  const names = (await ignoring('ENOENT', readdir(parent))) ?? []
  // A full disk has no room for another file.
  const now = await fileSystemTime(parent).catch(() => Date.now())
  for (const name of names) {
    if (own.has(name)) continue
    const [, scope, pid] = /^([0-9a-f]{16})\.(\d+)\.[0-9a-f]+$/.exec(name) ?? []
    const entry = await statIfExists(join(parent, name))
    const isStale = entry !== undefined && now - entry.mtimeMs > (scope === undefined ? EARLIER_STALE_MS : STALE_MS)
    if (!isStale && !(scope !== undefined && (await hasEnded(scope, Number(pid))))) continue
    await rm(join(parent, name), { recursive: true, force: true })
  }
}
