import { access, mkdir, mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf, messageOf } from './error-code.ts'
import { StartError } from './start-error.ts'

/**
 * Creates a directory with `mode`, and missing parents with the default mode. Throws a `StartError`. Node's recursive option is not used: it
 * gives `mode` to the parents, which would lock out the database's user, and never ends below `/proc`.
 */
export async function makeDirectory(path: string, mode = 0o777) {
  try {
    for (const directory of (await missingDirectories(path)).missing) {
      await mkdir(directory, directory === resolve(path) ? mode : 0o777).catch(async (error: unknown) => {
        // Another process may have created it.
        if (!(await isDirectory(directory))) throw error
      })
    }
  } catch (error) {
    throw directoryError(path, error)
  }
}

/**
 * Checks whether `makeDirectory` would succeed, and throws its errors. Returns the deepest existing directory of the path; if others are missing,
 * it creates and removes a directory there, since permissions alone do not show every refusal.
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
  const entry = await stat(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error
  })
  if (entry && !entry.isDirectory())
    throw new StartError(`${path} is a file, not a directory`, { advice: 'choose another' })
  return entry !== undefined
}

export async function exists(path: string) {
  return access(path).then(
    () => true,
    () => false,
  )
}

const REASONS: Record<string, string> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'the system allows no new directory there',
  ENOSPC: 'the disk is full',
}

function reasonOf(error: unknown) {
  return REASONS[codeOf(error) ?? ''] ?? messageOf(error)
}
