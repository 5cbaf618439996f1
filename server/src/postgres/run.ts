import { spawn } from 'node:child_process'
import type { Account } from './account.ts'

/** What PostgreSQL's programs see of our environment: nothing that could redirect them, such as PGDATA or LC_ALL. */
export const CLEAN_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/** The options of `spawn` that put a child under the account. */
export function under(account: Account) {
  return account.switch ? { uid: account.uid, gid: account.gid } : {}
}

/** Runs a program to its end; a failure throws with the last lines that it printed. */
export async function run(program: string, args: string[], account: Account): Promise<void> {
  const child = spawn(program, args, {
    cwd: '/',
    env: CLEAN_ENV,
    stdio: ['ignore', 'ignore', 'pipe'],
    ...under(account),
  })
  const chunks: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))

  const { promise, resolve, reject } = Promise.withResolvers<void>()
  child.once('error', (error) => reject(explainSpawn(program, error)))
  child.once('close', (code, signal) => {
    if (code === 0) return resolve()
    const output = Buffer.concat(chunks).toString().trim().split('\n').slice(-5).join(' / ')
    reject(new Error(`${program} ended with ${signal ?? `status ${code}`}: ${output}`))
  })
  return promise
}

/** The programs are built for glibc: where its loader is missing, the system reports the program itself as missing. */
export function explainSpawn(program: string, error: NodeJS.ErrnoException) {
  if (error.code !== 'ENOENT') return error
  return new Error(`${program} does not run on this system; it needs the GNU C library (not Alpine's musl)`, {
    cause: error,
  })
}
