import { mkdir, mkdtemp, rmdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf } from './error-code.ts'
import { StartError } from './start-error.ts'

/**
 * Creates a folder with `mode`, and missing folders above it. Throws a `StartError` if that fails. Folders are created
 * one at a time. Node's recursive option would give `mode` to all of them, which locks the database's user out above
 * its own folder. It also never ends where the system denies that an existing folder exists, as below `/proc`.
 */
export async function makeFolder(path: string, mode = 0o777) {
  try {
    for (const folder of (await missingFolders(path)).missing) {
      await mkdir(folder, folder === resolve(path) ? mode : 0o777).catch(async (error: unknown) => {
        // Another process may have created it meanwhile.
        if (!(await isFolder(folder))) throw error
      })
    }
  } catch (error) {
    throw folderError(path, error)
  }
}

/**
 * Throws what `makeFolder` would throw, and makes nothing. Returns the last folder of the path that is there. Where it is not the
 * last of all, a folder in it is made and removed at once: some file systems refuse that and tell nobody before.
 */
export async function checkFolder(path: string): Promise<string> {
  try {
    const { missing, present } = await missingFolders(path)
    if (missing.length > 0) await rmdir(await mkdtemp(join(present, '.groundstate-doctor-')))
    return present
  } catch (error) {
    throw folderError(path, error)
  }
}

async function missingFolders(path: string) {
  const missing: string[] = []
  let present = resolve(path)
  for (; !(await isFolder(present)); present = dirname(present)) missing.unshift(present)
  return { missing, present }
}

function folderError(path: string, cause: unknown) {
  if (cause instanceof StartError) return cause
  return new StartError(`can't make the folder ${path}: ${reasonOf(cause)}`, {
    cause,
    advice: 'choose another folder, or one that you may write to',
  })
}

async function isFolder(path: string) {
  const found = await stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (found && !found.isDirectory()) throw new StartError(`${path} is a file, no folder`, { advice: 'choose another' })
  return found !== undefined
}

const REASONS: Record<string, string> = {
  EACCES: 'no right to write there',
  EPERM: 'no right to write there',
  EROFS: 'the file system is read-only',
  ENOENT: 'the system takes no new folder there',
  ENOTDIR: 'something above it is a file',
  ENOSPC: 'the disk is full',
}

function reasonOf(error: unknown) {
  return REASONS[codeOf(error) ?? ''] ?? (error instanceof Error ? error.message : String(error))
}
