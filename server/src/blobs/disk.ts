import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, link, open, readdir, rm, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../error-code.ts'
import { makeFolder } from '../folder.ts'
import { claimTemporaryFolder } from './disk-temporary.ts'
import { type BlobDriver, SMALL_BYTES, type StoredBlob } from './driver.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'
import { FolderSync } from './folder-sync.ts'

/** Few, so that concurrent puts share the fsync of a folder; enough to keep the listing of each folder short. */
const FOLDERS = 16

/**
 * Blobs as files: `objects/<hash>/<key>`, with `~` for `/`. A blob is written to a temporary file, fsynced and linked
 * to its name. A link, unlike a rename, fails when the name is taken. Then its folder is fsynced.
 */
export async function openDiskDriver(root: string): Promise<BlobDriver> {
  const objects = join(root, 'objects')
  const folders = Array.from({ length: FOLDERS }, (_, n) => join(objects, n.toString(16)))
  for (const folder of [root, objects, ...folders]) await makeFolder(folder, 0o700)
  for (const folder of [objects, root]) await syncFolder(folder)
  const temporary = await claimTemporaryFolder(join(root, 'tmp'))
  const syncs = await Promise.all(folders.map((folder) => FolderSync.open(folder)))

  const place = (key: string) => {
    const n = createHash('sha256').update(key).digest().readUInt8(0) % FOLDERS
    return { folder: n, path: join(objects, n.toString(16), key.replaceAll('/', '~')) }
  }

  return {
    async write(key, sealed) {
      const { folder, path } = place(key)
      const temporaryPath = join(temporary, randomBytes(12).toString('base64url'))
      try {
        const size = await writeFile(temporaryPath, sealed)
        await link(temporaryPath, path)
        await syncs[folder]?.sync().catch(async (error: unknown) => {
          await unlink(path).catch(() => {})
          throw error
        })
        return size
      } catch (error) {
        throw codeOf(error) === 'EEXIST' ? new BlobExistsError(key) : error
      } finally {
        // Not awaited: files left by a crash are removed at the next start.
        unlink(temporaryPath).catch(() => {})
      }
    },

    async read(key) {
      const handle = await openExisting(key, place(key).path)
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

    stat: (key) => statBlob(place(key).path, key),

    async delete(key) {
      const { folder, path } = place(key)
      try {
        await unlink(path)
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return
        throw error
      }
      await syncs[folder]?.sync()
    },

    async *list(prefix) {
      for (const folder of folders) {
        for (const name of await readdir(folder)) {
          const key = name.replaceAll('~', '/')
          if (!key.startsWith(prefix)) continue
          // Undefined when the blob was deleted after the folder was read.
          const blob = await statBlob(join(folder, name), key)
          if (blob) yield blob
        }
      }
    },

    async [Symbol.asyncDispose]() {
      for (const sync of syncs) await sync.close()
      await rm(temporary, { recursive: true, force: true })
    },
  }
}

/** Resolves once the names in the folder are on the disk. */
async function syncFolder(folder: string) {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

async function writeFile(path: string, content: Buffer | AsyncIterable<Buffer>): Promise<number> {
  // O_DSYNC writes and syncs one buffer with one system call.
  const sync = Buffer.isBuffer(content) ? constants.O_DSYNC : 0
  await using handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | sync, 0o600)
  if (Buffer.isBuffer(content)) return await writeAll(handle, [content])

  let size = 0
  let batch: Buffer[] = []
  let batchBytes = 0
  for await (const piece of content) {
    batch.push(piece)
    batchBytes += piece.length
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

async function openExisting(key: string, path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (error) {
    throw codeOf(error) === 'ENOENT' ? new BlobNotFoundError(key) : error
  }
}

async function statBlob(path: string, key: string): Promise<StoredBlob | undefined> {
  try {
    const { size, mtime } = await stat(path)
    return { key, storedSize: size, modifiedAt: mtime }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
