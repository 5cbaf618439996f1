import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { codeOf } from './error-code.ts'
import { StartError } from './start-error.ts'

/**
 * Makes a folder of `mode` and those above it, where they are missing. Throws a `StartError` when that can't be. One at
 * a time: Node's own recursive way gives all of them the mode, which shuts the database's user out of what is above its
 * own folder, and never ends where the system says that a folder which is there is not, as below `/proc`.
 */
export async function makeFolder(path: string, mode = 0o777) {
  try {
    const missing: string[] = []
    for (let folder = resolve(path); !(await isFolder(folder)); folder = dirname(folder)) missing.unshift(folder)
    for (const folder of missing) {
      await mkdir(folder, folder === resolve(path) ? mode : 0o777).catch(async (error: unknown) => {
        // Another process may have made it meanwhile.
        if (!(await isFolder(folder))) throw error
      })
    }
  } catch (cause) {
    if (cause instanceof StartError) throw cause
    throw new StartError(`can't make the folder ${path}: ${reasonOf(cause)}`, {
      cause,
      advice: 'choose another folder, or one that you may write to',
    })
  }
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
