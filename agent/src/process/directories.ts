import { mkdir, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { codeOf, reasonOf } from './errors.ts'

/** A part of a path to a directory is a file: `path`. */
export class NotDirectoryError extends Error {
  override name = 'NotDirectoryError'
  readonly code = 'ENOTDIR'
  readonly path: string

  constructor(path: string) {
    super(`${path} is a file, not a directory`)
    this.path = path
  }
}

/**
 * Creates a directory with `mode`, and missing parents with `parentMode`. Throws `NotDirectoryError` and errors of the file system. Node's recursive
 * option is not used: it gives `mode` to the parents, which would lock out the database's user, and never ends below `/proc`, where the kernel
 * denies that an existing directory exists.
 */
export async function makeDirectories(path: string, mode: number, parentMode = mode) {
  for (const directory of (await missingDirectories(path)).missing) {
    await mkdir(directory, directory === resolve(path) ? mode : parentMode).catch(async (error: unknown) => {
      // Another process may have created it.
      if (!(await isDirectory(directory))) throw error
    })
  }
}

/** The deepest existing directory of a path, and the missing ones below it, outermost first. Throws as `makeDirectories` does. */
export async function missingDirectories(path: string) {
  const missing: string[] = []
  let present = resolve(path)
  for (; !(await isDirectory(present)); present = dirname(present)) missing.unshift(present)
  return { missing, present }
}

async function isDirectory(path: string) {
  const entry = await stat(path).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR') throw error
  })
  if (entry && !entry.isDirectory()) throw new NotDirectoryError(path)
  return entry !== undefined
}

/** Describes in words, without the path, why a directory cannot be made. */
export function directoryReason(error: unknown): string {
  return codeOf(error) === 'ENOENT' ? 'the system allows no new directory there' : reasonOf(error)
}
