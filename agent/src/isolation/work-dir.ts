import { randomUUID } from 'node:crypto'
import { access, constants, link, mkdir, readFile, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** For so long, in ms, a process that has the directory may take to end: one that was killed a moment ago is still there. */
const RETRY_TIMEOUT_MS = 5_000
const POLL_MS = 50

/** Directories that agents of this very process hold; two in one process have the same process id. */
const held = new Set<string>()

/** Makes the directory if it is not there, and answers its real path. Throws, with the name of the setting, when it cannot be used. */
export async function openWorkDir(directory: string): Promise<string> {
  try {
    await makeDirectory(resolve(directory))
    await access(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    return await realpath(directory)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`--work-dir ${directory}: this user cannot work there: ${reason}`, { cause: error })
  }
}

/**
 * Makes missing directories one at a time. Node's recursive option never ends where the system denies that an existing directory
 * exists, as below `/proc`.
 */
async function makeDirectory(path: string) {
  const missing: string[] = []
  for (let directory = path; !(await isThere(directory)); directory = dirname(directory)) missing.unshift(directory)
  for (const directory of missing) {
    await mkdir(directory, { mode: 0o700 }).catch(async (error: unknown) => {
      // Another process may have made it meanwhile.
      if (!(await isThere(directory))) throw error
    })
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

/**
 * Claims a working directory for one agent: another would take its directories for those of a dead one and remove them. Throws when
 * a live process keeps it; undefined when `signal` aborts the wait for that. A process id alone may have been reused, so
 * that the start time of the process is kept as well. The libraries that lock files go by the age of the file: a killed agent
 * would keep the directory for a while, and one that was suspended would lose it.
 *
 * Each claim is a file with the next number, which only one can make, and the highest one counts. It is never removed, only
 * succeeded: of two that find its process dead, the slower one would remove the claim of the other.
 */
export async function claimWorkDir(
  workDir: string,
  signal: AbortSignal,
  retryTimeoutMs = RETRY_TIMEOUT_MS,
): Promise<Disposable | undefined> {
  const inUse = () => new Error(`the working directory ${workDir} is used by another agent`)
  if (held.has(workDir)) throw inUse()
  held.add(workDir)
  const claim = {
    [Symbol.dispose]() {
      held.delete(workDir)
    },
  }
  try {
    for (const end = performance.now() + retryTimeoutMs; !signal.aborted;) {
      const number = await latestClaim(workDir)
      if (!(await isHeld(claimFile(workDir, number)))) {
        if (await makeClaim(workDir, number + 1)) return claim
      } else if (performance.now() > end) throw inUse()
      else await pause(POLL_MS, undefined, { signal }).catch(() => {})
    }
  } catch (error) {
    claim[Symbol.dispose]()
    throw error
  }
  claim[Symbol.dispose]()
  return undefined
}

const claimFile = (workDir: string, number: number) => join(workDir, `agent${number === 0 ? '' : `.${number}`}.pid`)

async function listClaims(workDir: string): Promise<number[]> {
  const matches = (await readdir(workDir)).map((name) => /^agent(?:\.([1-9]\d*))?\.pid$/.exec(name))
  return matches.filter((match) => match !== null).map(([, number]) => Number(number ?? 0))
}

async function latestClaim(workDir: string): Promise<number> {
  return Math.max(-1, ...(await listClaims(workDir)))
}

/** Whether a live process has the directory. */
export async function isClaimed(workDir: string): Promise<boolean> {
  return held.has(workDir) || isHeld(claimFile(workDir, await latestClaim(workDir)))
}

/** Whether another process, and a live one, has made the claim. */
async function isHeld(file: string): Promise<boolean> {
  const [pid, startedAt] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
  return startedAt !== undefined && Number(pid) !== process.pid && (await startTime(Number(pid))) === startedAt
}

/** Whether this process has got the claim of that number, and no later one is there. */
async function makeClaim(workDir: string, number: number): Promise<boolean> {
  const file = claimFile(workDir, number)
  const draft = join(workDir, `agent.${randomUUID()}.draft`)
  // The claim must appear complete.
  await writeFile(draft, `${process.pid} ${await startTime(process.pid)}\n`)
  try {
    await link(draft, file)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
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

/** The kernel's start time of a process in clock ticks since boot; undefined when it is gone, `0` where there is no /proc. */
async function startTime(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (status !== undefined) {
    const [state = '', ...facts] = status.slice(status.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended; only its parent has not asked how.
    return 'ZX'.includes(state) ? undefined : facts[18]
  }
  if (process.platform === 'linux') return undefined
  try {
    process.kill(pid, 0)
    return '0'
  } catch {
    return undefined
  }
}
