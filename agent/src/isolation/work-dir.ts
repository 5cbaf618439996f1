import { randomUUID } from 'node:crypto'
import { access, constants, link, readFile, readdir, realpath, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { NotDirectoryError, directoryReason, makeDirectories } from '../process/directories.ts'
import { codeOf } from '../process/errors.ts'

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
 * it; undefined when `signal` aborts the wait for its exit. A claim contains the process id and its start time, since ids are
 * reused. Lock files that expire by age would block the directory after a kill, and lose it after a suspension.
 *
 * Each claim is a file with the next number, which only one process can create; the highest number counts. A claim is replaced by a
 * later one, never removed: of two processes that find its owner dead, the slower one would remove the claim of the faster.
 */
export async function claimWorkDir(workDir: string, signal: AbortSignal, retryTimeoutMs = RETRY_TIMEOUT_MS) {
  if (held.has(workDir)) throw inUse(workDir, process.pid)
  held.add(workDir)
  using stack = new DisposableStack()
  stack.defer(() => held.delete(workDir))
  for (const end = performance.now() + retryTimeoutMs; !signal.aborted;) {
    const number = await latestClaim(workDir)
    const owner = await findOwner(claimFile(workDir, number))
    if (owner === undefined) {
      if (await makeClaim(workDir, number + 1)) return stack.move()
    } else if (performance.now() > end) throw inUse(workDir, owner)
    else await pause(POLL_MS, undefined, { signal }).catch(() => {})
  }
  return undefined
}

function inUse(workDir: string, pid: number) {
  const advice = 'give this agent another --work-dir, or a server with a built-in agent another --data-dir'
  return new Error(`the working directory ${workDir} is used by another agent, process ${pid}: ${advice}`)
}

const claimFile = (workDir: string, number: number) => join(workDir, `agent${number === 0 ? '' : `.${number}`}.pid`)

async function listClaims(workDir: string): Promise<number[]> {
  const matches = (await readdir(workDir)).map((name) => /^agent(?:\.([1-9]\d*))?\.pid$/.exec(name))
  return matches.filter((match) => match !== null).map(([, number]) => Number(number ?? 0))
}

async function latestClaim(workDir: string): Promise<number> {
  return Math.max(-1, ...(await listClaims(workDir)))
}

export async function isClaimed(workDir: string): Promise<boolean> {
  return held.has(workDir) || (await findOwner(claimFile(workDir, await latestClaim(workDir)))) !== undefined
}

/** The process id of the claim's owner, if that is another live process. */
async function findOwner(file: string): Promise<number | undefined> {
  const [pid, startedAt] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
  const isHeld = startedAt !== undefined && Number(pid) !== process.pid && (await startTime(Number(pid))) === startedAt
  return isHeld ? Number(pid) : undefined
}

/** Creates the claim with that number; returns false if it or a later one exists. */
async function makeClaim(workDir: string, number: number): Promise<boolean> {
  const file = claimFile(workDir, number)
  const draft = join(workDir, `agent.${randomUUID()}.draft`)
  // The claim must appear complete.
  await writeFile(draft, `${process.pid} ${await startTime(process.pid)}\n`)
  try {
    await link(draft, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  } finally {
    await rm(draft, { force: true })
  }
  const claims = await listClaims(workDir)
  if (Math.max(...claims) !== number) {
    await rm(file, { force: true })
    return false
  }
  for (const former of claims) if (former < number) await rm(claimFile(workDir, former), { force: true })
  return true
}

/** The start time of a process in clock ticks since boot; undefined after its exit, `0` without /proc. */
async function startTime(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (status !== undefined) {
    const [state = '', ...fields] = status.slice(status.lastIndexOf(')') + 2).split(' ')
    return 'ZX'.includes(state) ? undefined : fields[18]
  }
  if (process.platform === 'linux') return undefined
  try {
    process.kill(pid, 0)
    return '0'
  } catch {
    return undefined
  }
}
