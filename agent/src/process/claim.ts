import { randomUUID } from 'node:crypto'
import { closeSync, constants, openSync } from 'node:fs'
import { link, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { codeOf } from './errors.ts'
import { pidScope } from './process-id.ts'

/**
 * Claims of a process on a directory, which end with the process, however it ends. A claim contains the process id and its start time,
 * since ids are reused. In another container that id means another process or none: the owner also listens on a socket in the directory, to
 * which root and the same user can connect, on the same host. Lock files that expire by age would block the directory after a kill, and lose it after a suspension.
 *
 * Each claim is a file `<name>.<number>.pid` with the next number, which only one process can create; the highest number counts. A claim is
 * replaced by a later one, never removed: of two processes that find its owner dead, the slower one would remove the claim of the faster.
 * Claims of one process do not exclude each other.
 */
export type Claim = Disposable

/** The owner is described for users. */
export type ClaimAttempt = { claim: Claim; owner?: undefined } | { owner: string; claim?: undefined }

/** The new claim, or the owner; undefined if another process was faster. */
export async function tryClaim(directory: string, name: string): Promise<ClaimAttempt | undefined> {
  const number = Math.max(-1, ...(await listClaims(directory, name)))
  const owner = await findOwner(directory, name, number)
  if (owner !== undefined) return { owner }
  const claim = await makeClaim(directory, name, number + 1)
  return claim && { claim }
}

/** The owner, if that is another live process. */
export async function findClaimant(directory: string, name: string): Promise<string | undefined> {
  return findOwner(directory, name, Math.max(-1, ...(await listClaims(directory, name))))
}

const claimFile = (directory: string, name: string, number: number) =>
  join(directory, `${name}${number === 0 ? '' : `.${number}`}.pid`)

const socketName = (name: string, id: string) => `${name}.${id}.sock`

async function listClaims(directory: string, name: string): Promise<number[]> {
  const claims = (await readdir(directory)).filter((file) => file.startsWith(name))
  const matches = claims.map((file) => /^(?:\.([1-9]\d*))?\.pid$/.exec(file.slice(name.length)))
  return matches.filter((match) => match !== null).map(([, number]) => Number(number ?? 0))
}

/** The parts of a claim; none of one that was released. Earlier versions wrote the first two only, and a socket exists on Linux where the file system has some. */
async function readClaim(directory: string, name: string, number: number) {
  const text = await readFile(claimFile(directory, name, number), 'utf8').catch(() => '')
  const [pid, startedAt, scope, id = ''] = text.trim().split(' ')
  return { pid: Number(pid), startedAt, scope, socket: /^[\da-f-]{36}$/.test(id) ? socketName(name, id) : undefined }
}

async function findOwner(directory: string, name: string, number: number): Promise<string | undefined> {
  const { pid, startedAt, scope, socket } = await readClaim(directory, name, number)
  if (startedAt === undefined) return undefined
  const isHere = scope === undefined || scope === (await pidScope())
  if (isHere && pid === process.pid) return undefined
  // In a copy of the directory nobody listens.
  const isHeld = socket ? await isListening(directory, socket) : isHere && (await startTime(pid)) === startedAt
  if (!isHeld) return undefined
  return isHere ? `process ${pid}` : 'a process in another container'
}

/** Creates the claim with that number; undefined if it or a later one exists. */
async function makeClaim(directory: string, name: string, number: number): Promise<Claim | undefined> {
  const file = claimFile(directory, name, number)
  const id = randomUUID()
  const draft = join(directory, `${name}.${id}.draft`)
  using stack = new DisposableStack()
  // Before the claim appears, which must be complete then.
  const listener = stack.use(process.platform === 'linux' ? await listen(directory, socketName(name, id)) : undefined)
  const parts = [process.pid, await startTime(process.pid), await pidScope(), listener ? id : '']
  await writeFile(draft, `${parts.join(' ')}\n`, { flag: 'wx' })
  try {
    await link(draft, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined
    throw error
  } finally {
    await rm(draft, { force: true })
  }
  const claims = await listClaims(directory, name)
  if (Math.max(...claims) !== number) {
    await rm(file, { force: true })
    return undefined
  }
  for (const former of claims) if (former < number) await removeClaim(directory, name, former)
  stack.defer(() => release(file))
  return stack.move()
}

async function removeClaim(directory: string, name: string, number: number) {
  const { socket } = await readClaim(directory, name, number)
  if (socket !== undefined) await rm(join(directory, socket), { force: true })
  await rm(claimFile(directory, name, number), { force: true })
}

function release(file: string) {
  try {
    closeSync(openSync(file, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW))
  } catch {
    // Removed with its directory or by a later claim, or not writable any more: then the end of this process ends the claim.
  }
}

/** Listens on a socket in the directory as long as this process lives; undefined if that is impossible there. */
async function listen(directory: string, socket: string): Promise<Disposable | undefined> {
  const opened = openSync(directory, 'r')
  const server = createServer((connection) => connection.destroy()).unref()
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(shortPath(opened, socket), resolve)
    })
  } catch {
    closeSync(opened)
    return undefined
  }
  server.on('error', () => {})
  return {
    [Symbol.dispose]() {
      // Removes the socket by its path, and so needs the directory.
      server.close()
      closeSync(opened)
    },
  }
}

async function isListening(directory: string, socket: string): Promise<boolean> {
  const opened = openSync(directory, 'r')
  try {
    return await new Promise((resolve) => {
      const connection = connect(shortPath(opened, socket))
      connection.once('connect', () => {
        connection.destroy()
        resolve(true)
      })
      // Too many connections wait. With any other error nobody listens there for this user.
      connection.on('error', (error) => resolve(codeOf(error) === 'EAGAIN'))
    })
  } finally {
    closeSync(opened)
  }
}

/** The path of a socket, of which Linux accepts 107 bytes only. */
const shortPath = (directory: number, socket: string) => `/proc/self/fd/${directory}/${socket}`

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
