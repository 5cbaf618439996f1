import { lstatSync, readFileSync, readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** How often processes are looked for before those that are left are given up; each time waits a little longer. */
const ROUNDS = 20

/**
 * Kills all processes of these users, and answers the ones that stay. Each round stops them all before it kills them, so that
 * a process that keeps starting others is not quicker.
 */
export async function endProcessesOf(uids: readonly number[]): Promise<number[]> {
  for (let round = 0; ; round += 1) {
    const pids = processesOf(uids)
    if (pids.length === 0 || round === ROUNDS) return pids
    for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of pids) send(pid, signal)
    await delay(2 * round)
  }
}

function processesOf(uids: readonly number[]): number[] {
  const wanted = new Set(uids)
  return listProcesses(wanted).flatMap((process) => (process.uids.some((uid) => wanted.has(uid)) ? [process.pid] : []))
}

/** The users that have processes. */
export function usersAtWork(): number[] {
  return [...new Set(listProcesses().flatMap(({ uids }) => uids))]
}

type Known = { inode: number; owner: number; uids: number[] }

/**
 * What was read of processes before. To read one takes ten times as long as to see that it is still the same: each has an inode of
 * its own. The users of one change only between fork and exec, while the process that starts it is blocked.
 */
const known = new Map<string, Known>()

/** By the ids in `status`: the owner of a process's directory is root when the process has made itself unreadable. */
function listProcesses(wanted?: ReadonlySet<number>): { pid: number; uids: number[] }[] {
  const names = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const there = new Set(names)
  for (const name of known.keys()) if (!there.has(name)) known.delete(name)
  return names.flatMap((name) => {
    const facts = lstatSync(`/proc/${name}`, { throwIfNoEntry: false })
    if (facts === undefined) return []
    const before = known.get(name)
    const isSame = before !== undefined && before.inode === facts.ino && before.owner === facts.uid
    if (isSame && wanted !== undefined && !before.uids.some((uid) => wanted.has(uid))) return []
    const uids = readUsers(name)
    if (uids === undefined) return []
    known.set(name, { inode: facts.ino, owner: facts.uid, uids })
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
  // A zombie has ended too; its parent need not be ours.
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
