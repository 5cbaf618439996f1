import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat, unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, join } from 'node:path'
import { makeDirectory } from '../directory.ts'
import { syncDirectory } from '../durable-file.ts'
import { codeOf, ignoring } from '../error-code.ts'
import { isAlive } from '../postgres/cluster.ts'
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
  const temporary = await claimTemporaryDirectory(join(root, 'tmp'))
  const syncs = await Promise.all(directories.map(openDirectorySync))

  return {
    async write(key, sealed) {
      const { directory, newPath, shardPath } = locate(key)
      const temporaryPath = join(temporary, randomBytes(12).toString('base64url'))
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
        // Not awaited: files left by a crash are removed at the next start.
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
      const temporaryPath = join(temporary, randomBytes(12).toString('base64url'))
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
      return moveToShards(layout, before, signal)
    },

    async [Symbol.asyncDispose]() {
      for (const sync of syncs) await sync.close()
      await rm(temporary, { recursive: true, force: true })
    },
  }
}

async function writeFile(path: string, content: Buffer | AsyncIterable<Buffer>): Promise<number> {
  // O_DSYNC writes and syncs one buffer with one system call.
  const sync = Buffer.isBuffer(content) ? constants.O_DSYNC : 0
  await using handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | sync, 0o600)
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

const STALE_MS = 24 * 3600 * 1000

/**
 * Creates this process's directory for unfinished files, and removes those of dead processes. A directory is named after host and process. A
 * process of this host is dead if its id is unused, or is ours (in a container every start has the same one); one of another host, after a
 * day without changes.
 */
async function claimTemporaryDirectory(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  for (const name of await readdir(parent)) {
    if (!(await isOwnerAlive(parent, name))) await rm(join(parent, name), { recursive: true, force: true })
  }
  const name = `${hostname()}.${process.pid}.${randomBytes(6).toString('hex')}`
  own.add(name)
  const directory = join(parent, name)
  await mkdir(directory, { mode: 0o700 })
  return directory
}

/** Directories of this process, which may open several drivers (tests do). */
const own = new Set<string>()

async function isOwnerAlive(parent: string, name: string) {
  if (own.has(name)) return true
  const [, host, pid] = /^(.*)\.(\d+)\.[0-9a-f]+$/.exec(name) ?? []
  if (host === hostname()) return Number(pid) !== process.pid && isAlive(Number(pid))
  const directory = await stat(join(parent, name)).catch(() => undefined)
  return directory !== undefined && Date.now() - directory.mtimeMs < STALE_MS
}
