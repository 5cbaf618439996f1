import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import type { Account } from './account.ts'

/** What PostgreSQL's programs see of our environment: nothing that could redirect them, such as PGDATA or LC_ALL. */
export const CLEAN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * A shell in the background reads a pipe that only this process holds open, and that the kernel closes when it dies, however
 * it dies. It then interrupts its own process group, which the program leads: a number that is free again could by now be a
 * stranger's, but that of a group with a member is not free.
 */
const GUARD = `
( (trap '' INT TERM HUP; read -r _ <&3; kill -INT 0) >/dev/null 2>&1 & )
exec "$@" 3<&-
`

/** What a shell answers when it can't start a program. */
const NOT_STARTED: ReadonlySet<number | null> = new Set([126, 127])

/**
 * Starts a program of PostgreSQL under the account. It has a session of its own, since signals to our process group are for
 * the server to decide about, and is interrupted when this process dies.
 */
export async function spawnGuarded(
  program: string,
  args: string[],
  account: Account,
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
  const pipe = child.stdio[3] as Socket // what 'pipe' makes of a fourth one
  pipe.on('error', () => {}).unref()
  child.once('exit', () => pipe.destroy())
  return child
}

/** Runs a program to its end; a failure throws with the last lines that it printed. */
export async function run(program: string, args: string[], account: Account): Promise<void> {
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

/** The programs are built for glibc: where its loader is missing, the system reports the program itself as missing. */
export function explainExit(program: string, code: number | null) {
  if (!NOT_STARTED.has(code)) return undefined
  return `${program} does not run on this system; it needs the GNU C library (not Alpine's musl)`
}

export function lastLines(output: string) {
  return output.trim().split('\n').slice(-5).join(' / ')
}
