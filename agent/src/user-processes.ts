import { readdirSync, readFileSync } from 'node:fs'
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
  return listProcesses().flatMap((process) => (process.uids.some((uid) => wanted.has(uid)) ? [process.pid] : []))
}

/** The users that have processes. */
export function usersAtWork(): number[] {
  return [...new Set(listProcesses().flatMap(({ uids }) => uids))]
}

/** By the ids in `status`: the owner of a process's folder is root when the process has made itself unreadable. */
function listProcesses(): { pid: number; uids: number[] }[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    let status = ''
    try {
      status = readFileSync(`/proc/${name}/status`, 'latin1')
    } catch {
      // It has ended.
    }
    // A zombie has ended too; its parent need not be ours.
    if (status === '' || /^State:\s+[ZX]/m.test(status)) return []
    const ids = /^Uid:\s+(\d+)\s+(\d+)\s+(\d+)/m.exec(status)?.slice(1) ?? []
    return [{ pid: Number(name), uids: ids.map(Number) }]
  })
}

function send(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}
