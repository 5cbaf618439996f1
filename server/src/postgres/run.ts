import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { SystemAccount } from './account.ts'

/** Environment of PostgreSQL's programs, which variables such as PGDATA or LC_ALL must not affect. */
const CLEAN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * A background shell reads a pipe whose other end only this process has, and which the kernel closes when this process dies. The shell then
 * interrupts its own process group, which the program leads. Unlike a process id, the id of a group with members cannot be reused.
 */
const GUARD = `
( (trap '' INT TERM HUP; read -r _ <&3; kill -INT 0) >/dev/null 2>&1 & )
exec "$@" 3<&-
`

type Inherited = { stdout: number | 'ignore'; stderr: number | 'pipe'; fds?: readonly number[] }

/** Exit statuses of a shell that cannot start a program. */
const NOT_STARTED: ReadonlySet<number | null> = new Set([126, 127])

/**
 * Starts a program of PostgreSQL as the account, in a new session, so that signals to our process group do not reach it. It is interrupted when
 * this process dies. It also inherits the file descriptors `fds`, and keeps them open until it ends.
 */
export async function spawnGuarded(
  program: string,
  args: string[],
  account: SystemAccount,
  { stdout, stderr, fds = [] }: Inherited,
): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', GUARD, 'sh', program, ...args], {
    cwd: '/',
    env: CLEAN_ENV,
    detached: true,
    stdio: ['ignore', stdout, stderr, 'pipe', ...fds],
    ...(account.switch && { uid: account.uid, gid: account.gid }),
  })
  await once(child, 'spawn')
  const pipe = child.stdio[3] as Socket // the extra 'pipe'
  pipe.on('error', () => {}).unref()
  child.once('exit', () => pipe.destroy())
  return child
}

/** Runs a program; throws its last lines of output if it fails. */
export async function run(program: string, args: string[], account: SystemAccount): Promise<void> {
  const child = await spawnGuarded(program, args, account, { stdout: 'ignore', stderr: 'pipe' })
  const chunks: Buffer[] = []
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk))

  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
  if (code === 0) return
  const output = Buffer.concat(chunks).toString()
  throw new Error(
    explainExit(program, code) ?? `${program} ended with ${signal ?? `status ${code}`}: ${lastLines(output)}`,
  )
}

/** Explains why a program could not be started. If the loader of glibc is missing, the system reports the program itself as missing. */
export function explainExit(program: string, code: number | null) {
  if (!NOT_STARTED.has(code)) return undefined
  return `${program} does not run on this system; it needs the GNU C library (not Alpine's musl)`
}

export function lastLines(output: string) {
  return output.trim().split('\n').slice(-5).join(' / ')
}
