import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, open, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../directory.ts'
import { codeOf } from '../error-code.ts'
import { DirectorySync, syncDirectory } from './directory-sync.ts'
import { type DiskPlace, diskPlaces } from './disk-places.ts'
import { IF_THERE, moveToShards, unlinkIfThere } from './disk-shards.ts'
import { claimTemporaryDirectory } from './disk-temporary.ts'
import { type BlobDriver, SMALL_BYTES } from './driver.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'

/**
 * Blobs as files. A blob is written to a temporary file, fsynced and linked to its name in one of a few directories. A link, unlike a
 * rename, fails when the name is taken. Then the directory is fsynced, for all that have come meanwhile. Later the blob moves to
 * one of many shards: if put there at once, each blob would need an fsync of a different shard.
 */
export async function openDiskDriver(root: string): Promise<BlobDriver> {
  const objects = join(root, 'objects')
  const places = diskPlaces(objects)
  const { directories, place } = places
  for (const directory of [root, objects, ...directories]) await makeDirectory(directory, 0o700)
  for (const directory of [objects, root]) await syncDirectory(directory)
  const temporary = await claimTemporaryDirectory(join(root, 'tmp'))
  const syncs = await Promise.all(directories.map((directory) => DirectorySync.open(directory)))

  return {
    async write(key, sealed) {
      const { directory, newPath, shardPath } = place(key)
      const temporaryPath = join(temporary, randomBytes(12).toString('base64url'))
      try {
        const size = await writeFile(temporaryPath, sealed)
        if (await stat(shardPath, IF_THERE)) throw new BlobExistsError(key)
        await link(temporaryPath, newPath)
        try {
          // Checked once the other name is taken: only the blob just linked can appear in between.
          const [isTaken] = await Promise.all([stat(shardPath, IF_THERE), syncs[directory]?.sync()])
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
      const handle = await openExisting(key, place(key))
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

    async stat(key) {
      const { newPath, shardPath } = place(key)
      const found = (await stat(newPath, IF_THERE)) ?? (await stat(shardPath, IF_THERE))
      return found && { key, storedSize: found.size, modifiedAt: found.mtime }
    },

    async delete(key) {
      const { directory, newPath, shard, shardPath } = place(key)
      // In this order: a blob being moved gets its second name before it loses the first.
      if (await unlinkIfThere(newPath)) await syncs[directory]?.sync()
      if (await unlinkIfThere(shardPath)) await syncDirectory(shard)
    },

    list: (prefix, cursor) => places.list(prefix, cursor),

    settle: (before, signal) => moveToShards(places, before, signal),

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

/** A full disk may write only a part. Writing the rest then fails with the error. */
async function writeAll(handle: FileHandle, parts: Buffer[]): Promise<number> {
  if (parts.length === 0) return 0
  const total = parts.reduce((sum, part) => sum + part.length, 0)
  const { bytesWritten } = await handle.writev(parts)
  if (bytesWritten < total) await handle.appendFile(Buffer.concat(parts).subarray(bytesWritten))
  return total
}

/** In this order: a blob being moved gets its second name before it loses the first. */
async function openExisting(key: string, { newPath, shardPath }: DiskPlace): Promise<FileHandle> {
  const handle = (await openIfThere(newPath)) ?? (await openIfThere(shardPath))
  if (!handle) throw new BlobNotFoundError(key)
  return handle
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
