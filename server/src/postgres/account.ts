import { readFile, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname } from 'node:path'
import { PostgresUnavailable } from './unavailable.ts'

/** A system user. `switch`: this process is root and must switch to it. */
export type SystemAccount = { name: string; uid: number; gid: number; switch: boolean }

/** In order of preference. `nobody` is shared with other services, but exists on every system. */
const UNPRIVILEGED = ['groundstate', 'postgres', 'nobody']

/**
 * The user to run PostgreSQL as: the user of this process, or an unprivileged one if that is root, which PostgreSQL rejects. `initdb` also
 * rejects a user without a name.
 */
export async function findSystemAccount(): Promise<SystemAccount> {
  const uid = process.geteuid?.()
  if (uid === undefined) throw new PostgresUnavailable('the embedded PostgreSQL runs on Linux only')

  if (uid !== 0) return { name: currentName(uid), uid, gid: process.getegid?.() ?? uid, switch: false }

  const entries = parsePasswd(await readFile('/etc/passwd', 'utf8').catch(() => ''))
  for (const name of UNPRIVILEGED) {
    const entry = entries.get(name)
    if (entry && entry.uid !== 0) return { name, ...entry, switch: true }
  }
  throw new PostgresUnavailable(
    `PostgreSQL refuses to run as root, and /etc/passwd has none of the users ${UNPRIVILEGED.join(', ')} to run it as`,
  )
}

/** Whether the account has permission to enter the directory and all its parents. */
export async function canEnter(account: SystemAccount, directory: string): Promise<boolean> {
  return (await closedDirectory(account, directory)) === undefined
}

/** The topmost of a directory and its parents that the account has no permission to enter. `directory` is absolute. */
export async function closedDirectory(account: SystemAccount, directory: string): Promise<string | undefined> {
  let closed
  for (let path = directory; ; path = dirname(path)) {
    const { mode, uid, gid } = await stat(path)
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) closed = path
    if (path === dirname(path)) return closed
  }
}

function currentName(uid: number) {
  try {
    return userInfo().username
  } catch (cause) {
    throw new PostgresUnavailable(`the user id ${uid} has no entry in /etc/passwd, which PostgreSQL requires`, {
      cause,
    })
  }
}

function parsePasswd(text: string) {
  const entries = new Map<string, { uid: number; gid: number }>()
  for (const line of text.split('\n')) {
    const [name, , uid, gid] = line.split(':')
    if (name && uid && gid) entries.set(name, { uid: Number(uid), gid: Number(gid) })
  }
  return entries
}
