import { randomBytes, randomUUID } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { hasEnded, pidScope } from '@groundstate/agent/process/process-id'
import { createFileOnce } from './durable-file.ts'
import { codeOf, ignoring } from './error-code.ts'
import type { StartError } from './start-error.ts'

/** Age from which a lease counts as abandoned, in ms. */
const TTL_MS = 120_000
const REFRESH_MS = 10_000
export const LEASE_ADVICE = 'wait for it to end, or for two minutes if it was killed'

/**
 * Exclusive use of something on a file system, which several hosts and containers may share. `isHeld` is false once the process was paused for so long
 * that others may have regarded it as dead.
 */
export type FileLease = AsyncDisposable & { isHeld: () => Promise<boolean> }

/** Leases of this process, by their content. */
const own = new Set<string>()

/**
 * Takes a lease: a file that its process writes again and again, so that it ends if the process dies or is paused. Throws the error of `busy` while
 * another process has it. Only the times of the file system are compared.
 */
export async function takeLease(path: string, busy: (owner: string) => StartError): Promise<FileLease> {
  const text = `${hostname()} ${process.pid} ${await pidScope()} ${randomUUID()}\n`
  own.add(text)
  let writtenMs: number
  let isLost = false
  try {
    await create(path, text, busy)
    writtenMs = (await stat(path)).mtimeMs
    await removeTimes(dirname(path), writtenMs)
  } catch (error) {
    own.delete(text)
    throw error
  }

  const refresh = async () => {
    await using file = await open(path, 'r+')
    if ((await file.readFile('utf8')) !== text) throw new Error('another process has it')
    await file.write(text, 0)
    // A network file system has its own time only then.
    await file.datasync()
    const { mtimeMs } = await file.stat()
    if (mtimeMs - writtenMs > TTL_MS / 2) throw new Error('it was not written in time')
    writtenMs = mtimeMs
  }
  let refreshing = Promise.resolve()
  /** One after the other, and never again once it is lost. */
  const refreshOrLose = async () =>
    (refreshing = refreshing.then(async () => (isLost ? undefined : refresh())).catch(() => void (isLost = true)))
  const timer = setInterval(() => void refreshOrLose(), REFRESH_MS)

  return {
    async isHeld() {
      await refreshOrLose()
      return !isLost
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await refreshOrLose()
      // A lost one may be about to be taken over, so that another one would be removed.
      if (!isLost) await rm(path, { force: true })
      own.delete(text)
    },
  }
}

/** Whether a process has the lease. */
export async function isLeased(path: string) {
  const file = await ignoring('ENOENT', stat(path))
  return file !== undefined && isRecent(path, file)
}

async function isRecent(path: string, { mtimeMs }: Stats) {
  // A full disk has no room for another file; deletions that make room must not fail.
  const now = await fileSystemTime(dirname(path)).catch(() => Date.now())
  return now - mtimeMs < TTL_MS
}

async function create(path: string, text: string, busy: (owner: string) => StartError) {
  for (;;) {
    await createFileOnce(path, text)
    const present = await find(path)
    if (present?.text === text) return
    if (present === undefined) continue
    if (!present.isStale) throw busy(present.owner)
    // Only the process with the claim removes a lease that is not its own, and only if it is still stale then: others may have taken it over since.
    // The claim of a killed process is taken over in the same way. Only one that is paused here for longer than the TTL could remove a new
    // lease, whose process then finds it lost.
    const claim = `${path}.claim`
    await create(claim, text, busy)
    try {
      if ((await find(path))?.isStale === true) await rm(path, { force: true })
    } finally {
      await rm(claim, { force: true })
    }
  }
}

/** The lease that exists, and whether its process has died or been paused for too long. */
async function find(path: string) {
  const text = await ignoring('ENOENT', readFile(path, 'utf8')).catch((error: unknown) => {
    // Another user's lease; then its age decides.
    if (codeOf(error) === 'EACCES') return 'unknown 0'
    throw error
  })
  const file = await ignoring('ENOENT', stat(path))
  if (text === undefined || file === undefined) return undefined
  const [host, pid, scope = ''] = text.trim().split(' ')
  const isDead = !own.has(text) && (await hasEnded(scope, Number(pid)))
  return { text, owner: `process ${pid} of ${host}`, isStale: isDead || !(await isRecent(path, file)) }
}

/** Prefix of the names of files that exist for a moment. */
export const TIME_PREFIX = '.time-'
/** Age from which such a file was left by a killed process, in ms. */
const TIME_AGE_MS = 86_400_000

/** Never throws: what other users own may have to stay. */
async function removeTimes(directory: string, now: number) {
  for (const name of await readdir(directory).catch(() => [])) {
    if (!name.startsWith(TIME_PREFIX)) continue
    const path = join(directory, name)
    const file = await stat(path).catch(() => undefined)
    if (file && now - file.mtimeMs > TIME_AGE_MS) await rm(path).catch(() => {})
  }
}

/** The time of the file system that has the directory, in ms: clocks of hosts and containers may differ. Changes the time of the directory, too. */
export async function fileSystemTime(directory: string): Promise<number> {
  const path = join(directory, `${TIME_PREFIX}${randomBytes(9).toString('hex')}`)
  await using file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
  try {
    return (await file.stat()).mtimeMs
  } finally {
    await rm(path, { force: true })
  }
}
