import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it that are missing; one that exists stays as it is. Throws an error whose message is for
 * the person who named the path. Not `mkdir` with `recursive`: that never ends below /proc, where nothing can be made.
 */
export async function makeFolder(path: string, mode = 0o700) {
  try {
    await make(path, mode)
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? REASONS[String(error.code)] : undefined
    throw new Error(`the folder ${path} can't be made: ${reason ?? String(error)}`, { cause: error })
  }
}

const REASONS: Partial<Record<string, string>> = {
  ENOENT: 'the file system takes no folders there',
  ENOTDIR: 'a part of the path is no folder',
  EEXIST: 'a file has this name',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
}

async function make(path: string, mode: number) {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    if (hasCode(error, 'EEXIST') && (await stat(path)).isDirectory()) return
    if (!hasCode(error, 'ENOENT') || dirname(path) === path) throw error
    await make(dirname(path), mode)
    // Once: where the folder above exists by now, a second refusal is final.
    await mkdir(path, { mode }).catch((again: unknown) => {
      if (!hasCode(again, 'EEXIST')) throw again
    })
  }
}

function hasCode(error: unknown, code: string) {
  return error instanceof Error && 'code' in error && error.code === code
}
