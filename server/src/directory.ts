import { statSync } from 'node:fs'
import { access, mkdtemp, realpath, rmdir, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import {
  NotDirectoryError,
  directoryReason,
  makeDirectories,
  missingDirectories,
} from '@groundstate/agent/process/directories'
import { FILE_REASONS, reasonOf } from '@groundstate/agent/process/errors'
import { codeOf } from './error-code.ts'
import { StartError } from './start-error.ts'

/** Creates a directory with `mode`, and missing parents with the default mode. Throws a `StartError` with `advice`. */
export async function makeDirectory(path: string, mode = 0o777, advice = ADVICE) {
  try {
    await makeDirectories(path, mode, 0o777)
  } catch (error) {
    throw directoryError(path, error, advice)
  }
}

/** Creates the data directory, which only this user may enter, and a directory in it. */
export async function makeDataDirectory(dataDir: string, name = '') {
  for (const path of [dataDir, join(dataDir, name)]) await makeDirectory(path, 0o700, DATA_DIRECTORY_ADVICE)
}

/** The user that servers of NFS put in place of root. */
const SQUASHED_ROOT = 65_534

/**
 * Throws a `StartError` if this process is root and `path`, in or of the data directory, belongs to another user, who could not read what root writes
 * there. Returns whether `path` exists.
 */
export async function requireOwner(dataDir: string, path = dataDir) {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined || [0, SQUASHED_ROOT].includes(found.uid) || process.geteuid?.() !== 0)
    return found !== undefined
  throw new StartError(`${dataDir} belongs to the user id ${found.uid}, who could not read what root writes there`, {
    advice: `run this as that user, such as with sudo -u '#${found.uid}'`,
  })
}

/** Entries of a data directory that belong to the user who runs the server, unlike the database of root. */
const OWNED = ['blobs', 'secret', 'previous-secrets', 'tls', 'git', 'agent', 'postgres.log']

/**
 * Throws as `requireOwner` does for a data directory that a server of another user has used. Without entries of a server, its owner decides, unless
 * `acceptsNew`: root may start one in the directory of another user.
 */
export async function requireUser(dataDir: string, { acceptsNew = false } = {}) {
  const present = await Promise.all(OWNED.map(async (name) => requireOwner(dataDir, join(dataDir, name))))
  if (!acceptsNew && !present.includes(true)) await requireOwner(dataDir)
}

/**
 * Checks whether `makeDataDirectory` would succeed, and throws its errors. Returns the deepest existing directory of the path; if others are missing,
 * it creates and removes a directory there, since permissions alone do not show every refusal.
 */
export async function checkDirectory(path: string): Promise<string> {
  try {
    const { missing, present } = await missingDirectories(path)
    if (missing.length > 0) await rmdir(await mkdtemp(join(present, '.groundstate-doctor-')))
    return present
  } catch (error) {
    throw directoryError(path, error, DATA_DIRECTORY_ADVICE)
  }
}

/** Whether a directory, which need not exist, is another one or in it, also by links. */
export async function isInside(path: string, outer: string) {
  const [inner, root] = await Promise.all(
    [path, outer].map(async (each) => {
      const { present } = await missingDirectories(each)
      return join(await realpath(present), relative(present, resolve(each)), sep)
    }),
  )
  return inner?.startsWith(root ?? '') === true
}

const ADVICE = 'choose another directory, or one that you may write to'
const DATA_DIRECTORY_ADVICE = 'set GROUNDSTATE_DATA_DIR to a directory that you may write to'

/** Describes why a directory cannot be made or used. */
export function directoryError(path: string, cause: unknown, advice = ADVICE) {
  if (cause instanceof NotDirectoryError) return new StartError(cause.message, { cause, advice })
  return new StartError(`can't make the directory ${path}: ${directoryReason(cause)}`, { cause, advice })
}

/** Describes an error of the file system with its path; undefined for any other error. */
export function fileError(cause: unknown, dataDir: string | undefined): StartError | undefined {
  if (!(cause instanceof Error && 'path' in cause && typeof cause.path === 'string')) return undefined
  // A failed spawn has a path too.
  const { syscall } = cause as NodeJS.ErrnoException
  if (FILE_REASONS[codeOf(cause) ?? ''] === undefined || syscall?.startsWith('spawn') === true) return undefined
  const isData = dataDir !== undefined && `${resolve(cause.path)}${sep}`.startsWith(`${resolve(dataDir)}${sep}`)
  const advice = isData ? { advice: dataFileAdvice(dataDir, cause) } : {}
  const reason = cause instanceof NotDirectoryError ? FILE_REASONS['EEXIST'] : reasonOf(cause)
  return new StartError(`can't use ${cause.path}: ${reason}`, { cause, ...advice })
}

/** Advice on an error of a file in the data directory. */
export function dataFileAdvice(dataDir: string, cause: unknown) {
  if (!['EACCES', 'EPERM'].includes(codeOf(cause) ?? '')) return 'check GROUNDSTATE_DATA_DIR'
  const owner = [...OWNED.map((name) => join(dataDir, name)), dataDir].map(findOwner).find((uid) => uid !== undefined)
  if (owner === undefined || owner === process.geteuid?.()) return 'run this as the user that the server runs as'
  if (owner === 0)
    return `unless root runs the server, change the owner with sudo chown -R ${process.geteuid?.()} ${dataDir}, or set GROUNDSTATE_DATA_DIR to another directory; otherwise run this with sudo`
  return `run this as the user id ${owner}, such as with sudo -u '#${owner}'`
}

function findOwner(path: string) {
  try {
    return statSync(path).uid
  } catch {
    return undefined
  }
}

export async function exists(path: string) {
  return access(path).then(
    () => true,
    () => false,
  )
}
