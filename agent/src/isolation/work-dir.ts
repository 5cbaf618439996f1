import { access, constants, realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { findClaimant, tryClaim } from '../process/claim.ts'
import { NotDirectoryError, directoryReason, makeDirectories } from '../process/directories.ts'

/** Time limit for the previous owner to exit, in ms: a process that was just killed may still exist. */
const RETRY_TIMEOUT_MS = 5_000
const POLL_MS = 50

/** Directories claimed by agents of this process, which share its process id. */
const held = new Set<string>()

/** Creates the directory if it does not exist, and returns its real path. Throws, with the name of the setting, if it is not usable. */
export async function openWorkDir(directory: string): Promise<string> {
  try {
    await makeDirectories(directory, 0o700)
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    return await realpath(directory)
  } catch (error) {
    const isFile = error instanceof NotDirectoryError && error.path === resolve(directory)
    const reason = isFile ? 'it is a file, not a directory' : directoryReason(error)
    throw new Error(`--work-dir ${directory}: ${reason}`, { cause: error })
  }
}

/**
 * Claims a working directory: another agent would remove its directories as those of a dead one. Throws when a live process holds
 * it (`WorkDirInUseError`); undefined when `signal` aborts the wait for its exit.
 */
export async function claimWorkDir(workDir: string, signal: AbortSignal, retryTimeoutMs = RETRY_TIMEOUT_MS) {
  if (held.has(workDir)) throw new WorkDirInUseError(workDir, `process ${process.pid}`)
  held.add(workDir)
  using stack = new DisposableStack()
  stack.defer(() => held.delete(workDir))
  for (const end = performance.now() + retryTimeoutMs; !signal.aborted;) {
    const attempt = await tryClaim(workDir, 'agent')
    if (attempt === undefined) continue
    if (attempt.claim) {
      stack.use(attempt.claim)
      return stack.move()
    }
    if (performance.now() > end) throw new WorkDirInUseError(workDir, attempt.owner)
    await pause(POLL_MS, undefined, { signal }).catch(() => {})
  }
  return undefined
}

/** Thrown if the agent of another process uses the working directory. */
export class WorkDirInUseError extends Error {
  override name = 'WorkDirInUseError'
  /** Such as `process 7`. */
  readonly owner: string

  constructor(workDir: string, owner: string) {
    super(`the working directory ${workDir} is used by another agent, ${owner}: give this agent another --work-dir`)
    this.owner = owner
  }
}

export async function isClaimed(workDir: string): Promise<boolean> {
  return held.has(workDir) || (await findClaimant(workDir, 'agent')) !== undefined
}
