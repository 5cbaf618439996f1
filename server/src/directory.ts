import { mkdir, mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf } from './error-code.ts'
import { StartError } from './start-error.ts'

/**
 * Creates a directory with `mode`, and missing directories above it. Throws a `StartError` if that fails. Directories are created
 * one at a time. Node's recursive option would give `mode` to all of them, which locks the database's user out above
 * its own directory. It also never ends where the system denies that an existing directory exists, as below `/proc`.
 */
export async function makeDirectory(path: string, mode = 0o777) {
  try {
    for (const directory of (await missingDirectories(path)).missing) {
      await mkdir(directory, directory === resolve(path) ? mode : 0o777).catch(async (error: unknown) => {
        // Another process may have created it meanwhile.
        if (!(await isDirectory(directory))) throw error
      })
    }
  } catch (error) {
    throw directoryError(path, error)
  }
}

/**
 * Throws what `makeDirectory` would throw, and makes nothing. Returns the last directory of the path that is there. Where it is not the
 * last of all, a directory in it is made and removed at once: some file systems refuse that and tell no one before.
 */
export async function checkDirectory(path: string): Promise<string> {
  try {
    const { missing, present } = await missingDirectories(path)
    if (missing.length > 0) await rmdir(await mkdtemp(join(present, '.groundstate-doctor-')))
    return present
  } catch (error) {
    throw directoryError(path, error)
  }
}

async function missingDirectories(path: string) {
  const missing: string[] = []
  let present = resolve(path)
  for (; !(await isDirectory(present)); present = dirname(present)) missing.unshift(present)
  return { missing, present }
}

function directoryError(path: string, cause: unknown) {
  if (cause instanceof StartError) return cause
  return new StartError(`can't make the directory ${path}: ${reasonOf(cause)}`, {
    cause,
    advice: 'choose another directory, or one that you may write to',
  })
}

async function isDirectory(path: string) {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (found && !found.isDirectory())
    throw new StartError(`${path} is a file, no directory`, { advice: 'choose another' })
  return found !== undefined
}

const REASONS: Record<string, string> = {
  EACCES: 'no right to write there',
  EPERM: 'no right to write there',
  EROFS: 'the file system is read-only',
  ENOENT: 'the system takes no new directory there',
  ENOTDIR: 'something above it is a file',
  ENOSPC: 'the disk is full',
}

function reasonOf(error: unknown) {
  return REASONS[codeOf(error) ?? ''] ?? (error instanceof Error ? error.message : String(error))
}
