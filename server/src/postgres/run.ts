import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { SystemAccount } from './account.ts'

/** The environment of PostgreSQL's programs. Variables such as PGDATA or LC_ALL must not affect them. */
export const CLEAN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * A background shell reads a pipe whose other end only this process holds. The kernel closes the pipe when this process
 * dies, however it dies. The shell then interrupts its own process group, which the program leads. A process id may
 * have been reused by then; the id of a group with members can't be.
 */
const GUARD = `
( (trap '' INT TERM HUP; read -r _ <&3; kill -INT 0) >/dev/null 2>&1 & )
exec "$@" 3<&-
`

/** A shell's exit status for a program that it can't start. */
const NOT_STARTED: ReadonlySet<number | null> = new Set([126, 127])

/**
 * Starts a program of PostgreSQL as the account. The program gets its own session, since the server decides about
 * signals to our process group. It is interrupted when this process dies.
 */
export async function spawnGuarded(
  program: string,
  args: string[],
  account: SystemAccount,
  output: { stdout: number | 'ignore'; stderr: number | 'pipe' },
): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', GUARD, 'sh', program, ...args], {
    cwd: '/',
    env: CLEAN_ENV,
    detached: true,
    stdio: ['ignore', output.stdout, output.stderr, 'pipe'],
    ...(account.switch && { uid: account.uid, gid: account.gid }),
  })
  await once(child, 'spawn')
  const pipe = child.stdio[3] as Socket // the extra 'pipe'
  pipe.on('error', () => {}).unref()
  child.once('exit', () => pipe.destroy())
  return child
}

/** Runs a program to its end; throws with its last lines of output when it fails. */
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

/** The programs are built for glibc. Where its loader is missing, the system reports the program itself as missing. */
export function explainExit(program: string, code: number | null) {
  if (!NOT_STARTED.has(code)) return undefined
  return `${program} does not run on this system; it needs the GNU C library (not Alpine's musl)`
}

export function lastLines(output: string) {
  return output.trim().split('\n').slice(-5).join(' / ')
}
