import { randomBytes } from 'node:crypto'
import { link, open, rename, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf } from './error-code.ts'

/** Creates a file atomically and durably. An existing file is not changed: the first of concurrent processes wins. */
export async function createFileOnce(path: string, content: string) {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await using file = await open(temporary, 'wx', 0o600)
    await file.writeFile(content)
    await file.sync()
    await link(temporary, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    await unlink(temporary).catch(() => {})
  }
  // Also if another process created the file: what depends on it must not outlive it in a power cut.
  await syncDirectory(dirname(path))
}

/** Writes a file atomically and durably, in place of an existing one. */
export async function replaceFile(path: string, content: string) {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    await using file = await open(temporary, 'wx', 0o600)
    await file.writeFile(content)
    await file.sync()
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncDirectory(dirname(path))
}

/** Resolves when all names in the directory are durable. */
export async function syncDirectory(path: string) {
  await using directory = await open(path, 'r')
  await directory.sync()
}
