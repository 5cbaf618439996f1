import { randomUUID } from 'node:crypto'
import { link, readFile, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from './errors.ts'

/**
 * Claims of a process on a directory, which end with the process, however it ends. A claim contains the process id and its start time,
 * since ids are reused. Lock files that expire by age would block the directory after a kill, and lose it after a suspension.
 *
 * Each claim is a file `<name>.<number>.pid` with the next number, which only one process can create; the highest number counts. A claim is
 * replaced by a later one, never removed: of two processes that find its owner dead, the slower one would remove the claim of the faster.
 * Claims of one process do not exclude each other.
 */
export type ClaimAttempt = { file: string; owner?: undefined } | { owner: number; file?: undefined }

/** The file of the new claim, or the process id of the owner; undefined if another process was faster. */
export async function tryClaim(directory: string, name: string): Promise<ClaimAttempt | undefined> {
  const number = Math.max(-1, ...(await listClaims(directory, name)))
  const owner = await findOwner(claimFile(directory, name, number))
  if (owner !== undefined) return { owner }
  return (await makeClaim(directory, name, number + 1)) ? { file: claimFile(directory, name, number + 1) } : undefined
}

/** Ends a claim of this process. */
export async function releaseClaim(file: string) {
  await truncate(file)
}

/** The process id of the owner, if that is another live process. */
export async function findClaimant(directory: string, name: string): Promise<number | undefined> {
  return findOwner(claimFile(directory, name, Math.max(-1, ...(await listClaims(directory, name)))))
}

const claimFile = (directory: string, name: string, number: number) =>
  join(directory, `${name}${number === 0 ? '' : `.${number}`}.pid`)

async function listClaims(directory: string, name: string): Promise<number[]> {
  const claims = (await readdir(directory)).filter((file) => file.startsWith(name))
  const matches = claims.map((file) => /^(?:\.([1-9]\d*))?\.pid$/.exec(file.slice(name.length)))
  return matches.filter((match) => match !== null).map(([, number]) => Number(number ?? 0))
}

async function findOwner(file: string): Promise<number | undefined> {
  const [pid, startedAt] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
  const isHeld = startedAt !== undefined && Number(pid) !== process.pid && (await startTime(Number(pid))) === startedAt
  return isHeld ? Number(pid) : undefined
}

/** Creates the claim with that number; returns false if it or a later one exists. */
async function makeClaim(directory: string, name: string, number: number): Promise<boolean> {
  const file = claimFile(directory, name, number)
  const draft = join(directory, `${name}.${randomUUID()}.draft`)
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
  const claims = await listClaims(directory, name)
  if (Math.max(...claims) !== number) {
    await rm(file, { force: true })
    return false
  }
  for (const former of claims) if (former < number) await rm(claimFile(directory, name, former), { force: true })
  return true
}

/** The start time of a process in clock ticks since boot; undefined after its exit, `0` without /proc. */
export async function startTime(pid: number): Promise<string | undefined> {
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
