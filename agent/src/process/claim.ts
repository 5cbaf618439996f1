import { randomUUID } from 'node:crypto'
import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs'
import { link, readFile, readdir, rm } from 'node:fs/promises'
import { type Server, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { codeOf } from './errors.ts'
import { hasEnded, pidScope } from './process-id.ts'

/**
 * Claims of a process on a directory, which end with the process, however it ends. A claim contains the process id and its start time,
 * since ids are reused. In another container that id means another process or none: the owner also listens on a socket in the directory, to
 * which processes on the same host can connect. Lock files that expire by age would block the directory after a kill, and lose it after a suspension.
 *
 * Each claim is a file `<name>.<number>.pid` with the next number, which only one process can create; the highest number counts. A claim is
 * replaced by a later one, never removed: of two processes that find its owner dead, the slower one would remove the claim of the faster.
 * Claims of one process do not exclude each other.
 */
export type Claim = Disposable & {
  /**
   * File descriptor of the socket; undefined without one. In other containers, which cannot see the processes of this one, the claim lasts as
   * long as a child that inherits it.
   */
  readonly fd: number | undefined
}

/** The owner is described for users. */
export type ClaimAttempt = { claim: Claim; owner?: undefined } | { owner: string; claim?: undefined }

/** The new claim, or the owner; undefined if another process was faster. Throws errors of the file system. */
export async function tryClaim(directory: string, name: string): Promise<ClaimAttempt | undefined> {
  const number = await lastNumber(directory, name)
  const claim = await readClaim(directory, name, number)
  const owner = claim && (await findOwner(directory, claim))
  if (owner !== undefined) return { owner }
  const made = await makeClaim(directory, name, number + 1)
  return made && { claim: made }
}

/** The owner, if that is another live process. Throws errors of the file system. */
export async function findClaimant(directory: string, name: string): Promise<string | undefined> {
  for (let missing = -1; ;) {
    const number = await lastNumber(directory, name)
    const claim = await readClaim(directory, name, number)
    if (claim) return findOwner(directory, claim)
    if (number === missing) return undefined
    // It was replaced after it had been listed.
    missing = number
  }
}

const claimFile = (directory: string, name: string, number: number) =>
  join(directory, `${name}${number === 0 ? '' : `.${number}`}.pid`)

const socketName = (name: string, id: string) => `${name}.${id}.sock`

async function listClaims(directory: string, name: string): Promise<number[]> {
  const claims = (await readdir(directory)).filter((file) => file.startsWith(name))
  const matches = claims.map((file) => /^(?:\.([1-9]\d*))?\.pid$/.exec(file.slice(name.length)))
  return matches.filter((match) => match !== null).map(([, number]) => Number(number ?? 0))
}

const lastNumber = async (directory: string, name: string) => Math.max(-1, ...(await listClaims(directory, name)))

/** The parts of a claim, undefined if it does not exist; they are missing from one that was released. Earlier versions wrote the first two only, and a socket exists on Linux where the file system has some. */
async function readClaim(directory: string, name: string, number: number) {
  try {
    const text = await readFile(claimFile(directory, name, number), 'utf8')
    const [pid, startedAt, scope, id = ''] = text.trim().split(' ')
    return { pid: Number(pid), startedAt, scope, socket: /^[\da-f-]{36}$/.test(id) ? socketName(name, id) : undefined }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

type ReadClaim = NonNullable<Awaited<ReturnType<typeof readClaim>>>

async function findOwner(directory: string, claim: ReadClaim): Promise<string | undefined> {
  const scope = await pidScope()
  const { pid, startedAt, scope: claimed = scope, socket } = claim
  if (startedAt === undefined) return undefined
  const isHere = claimed === scope
  if (isHere && (pid === process.pid || !(await isRunning(pid, startedAt, scope)))) return undefined
  // In a copy of the directory nobody listens.
  const isHeld = socket === undefined ? isHere : await isListening(directory, socket)
  if (!isHeld) return undefined
  return isHere ? `process ${pid}` : 'a process in another container'
}

async function isRunning(pid: number, startedAt: string, scope: string) {
  const started = await startTime(pid)
  // Those of other users can be hidden in /proc.
  return started === undefined ? !(await hasEnded(scope, pid)) : started === startedAt
}

/** Creates the claim with that number; undefined if it or a later one exists. */
async function makeClaim(directory: string, name: string, number: number): Promise<Claim | undefined> {
  const file = claimFile(directory, name, number)
  const id = randomUUID()
  const draft = join(directory, `${name}.${id}.draft`)
  using stack = new DisposableStack()
  // Before the claim appears, which must be complete then.
  const listener = process.platform === 'linux' ? await listen(directory, socketName(name, id)) : undefined
  stack.use(listener)
  const opened = openSync(draft, 'wx')
  stack.defer(() => closeSync(opened))
  try {
    const parts = [process.pid, await startTime(process.pid), await pidScope(), listener ? id : '']
    writeSync(opened, `${parts.join(' ')}\n`)
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
  stack.defer(() => release(opened))
  const held = stack.move()
  return { fd: listener?.fd, [Symbol.dispose]: () => held.dispose() }
}

async function removeClaim(directory: string, name: string, number: number) {
  const claim = await readClaim(directory, name, number)
  if (claim?.socket !== undefined) await rm(join(directory, claim.socket), { force: true })
  await rm(claimFile(directory, name, number), { force: true })
}

/** By its descriptor: another file may have its name by now. */
function release(opened: number) {
  try {
    ftruncateSync(opened)
  } catch {
    // Not writable any more: then the end of this process ends the claim.
  }
}

/** Errors that do not mean that the file system has no sockets. */
const EXHAUSTED: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'ENOSPC', 'EDQUOT'])

/** Listens on a socket in the directory as long as this process lives; undefined if that is impossible there. */
async function listen(directory: string, socket: string) {
  const opened = openSync(directory, 'r')
  const server = createServer((connection) => connection.destroy()).unref()
  try {
    await new Promise<void>((resolve, reject) => {
      const path = shortPath(opened, socket)
      // Every user who can enter the directory has to notice the claim.
      server.once('error', reject).listen({ path, readableAll: true, writableAll: true }, resolve)
    })
  } catch (error) {
    closeSync(opened)
    if (EXHAUSTED.has(codeOf(error))) throw error
    return undefined
  }
  server.on('error', () => {})
  return {
    fd: fdOf(server),
    [Symbol.dispose]() {
      // Removes the socket by its path, and so needs the directory.
      server.close()
      closeSync(opened)
    },
  }
}

function fdOf(server: Server) {
  // eslint-disable-next-line no-underscore-dangle -- Node's API does not have it
  return (server as Server & { _handle?: { fd?: number } })._handle?.fd
}

const ABSENT: ReadonlySet<string> = new Set(['ECONNREFUSED', 'ENOENT'])
/** Too many connections wait, or this user or container may not connect. */
const PRESENT: ReadonlySet<string> = new Set(['EAGAIN', 'EACCES', 'EPERM'])

async function isListening(directory: string, socket: string): Promise<boolean> {
  const opened = openSync(directory, 'r')
  try {
    return await new Promise((resolve, reject) => {
      const connection = connect(shortPath(opened, socket))
      connection.once('connect', () => {
        connection.destroy()
        resolve(true)
      })
      connection.on('error', (error) => {
        const code = codeOf(error)
        if (PRESENT.has(code)) resolve(true)
        else if (ABSENT.has(code)) resolve(false)
        else reject(error)
      })
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
