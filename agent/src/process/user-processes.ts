import { lstatSync, readFileSync, readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Maximum number of attempts to kill a user's processes; the delay grows with each. */
const ROUNDS = 20

/** Kills all processes of these users; returns the survivors. Stops all of them before killing, so that none can fork in between. */
export async function endProcessesOf(uids: readonly number[]): Promise<number[]> {
  for (let round = 0; ; round += 1) {
    const pids = processesOf(uids)
    if (pids.length === 0 || round === ROUNDS) return pids
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of pids) send(pid, signal)
    await delay(2 * round)
  }
}

function processesOf(uids: readonly number[]): number[] {
  const users = new Set(uids)
  return listProcesses(users).flatMap((process) => (process.uids.some((uid) => users.has(uid)) ? [process.pid] : []))
}

export function activeUsers(): number[] {
  return [...new Set(listProcesses().flatMap(({ uids }) => uids))]
}

/** Reading a process takes ten times as long as checking that its inode is known. Its users change only between fork and exec. */
const known = new Map<string, { inode: number; owner: number; uids: number[] }>()

/** Reads user ids from `status`, since root owns the directory of a process that is not dumpable. */
function listProcesses(users?: ReadonlySet<number>): { pid: number; uids: number[] }[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const existing = new Set(names)
  for (const name of known.keys()) if (!existing.has(name)) known.delete(name)
  return names.flatMap((name) => {
    const stats = lstatSync(`/proc/${name}`, { throwIfNoEntry: false })
    if (stats === undefined) return []
    const before = known.get(name)
    const isSame = before !== undefined && before.inode === stats.ino && before.owner === stats.uid
    if (isSame && users !== undefined && !before.uids.some((uid) => users.has(uid))) return []
    const uids = readUsers(name)
    if (uids === undefined) return []
    known.set(name, { inode: stats.ino, owner: stats.uid, uids })
    return [{ pid: Number(name), uids }]
  })
}

/** The users of a process; undefined when it has ended. */
function readUsers(name: string): number[] | undefined {
  let status = ''
  try {
    status = readFileSync(`/proc/${name}/status`, 'latin1')
  } catch {
    return undefined
  }
  // A zombie has ended as well; its parent need not be this process.
  if (status === '' || /^State:\s+[ZX]/m.test(status)) return undefined
  return (/^Uid:\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1) ?? []).map(Number)
}

function send(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

/** Numeric ids without an entry in /etc/passwd: the user of one run, the group of its organization. */
export type RunUser = { uid: number; gid: number }
