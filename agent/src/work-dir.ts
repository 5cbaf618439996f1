import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** For so long, in ms, a process that has the folder may take to end: one that was killed a moment ago is still there. */
const PATIENCE_MS = 5_000
const POLL_MS = 50

/** Folders that agents of this very process hold; two in one process have the same process id. */
const held = new Set<string>()

/**
 * Claims a working folder for one agent: another would take its folders for those of a dead one and remove them. Throws when
 * a live process keeps it. A process id alone may have been given anew, so that the start time of the process is kept as well.
 */
export async function claimWorkDir(workDir: string): Promise<Disposable> {
  const file = join(workDir, 'agent.pid')
  const [pid, startedAt] = (await readFile(file, 'utf8').catch(() => '')).trim().split(' ')
  const isOthers = async () =>
    startedAt !== undefined && Number(pid) !== process.pid && (await startTime(Number(pid))) === startedAt
  const inUse = () => new Error(`the working folder ${workDir} is used by another agent`)
  for (const end = performance.now() + PATIENCE_MS; await isOthers();) {
    if (performance.now() > end) throw inUse()
    await pause(POLL_MS)
  }
  if (held.has(workDir)) throw inUse()
  held.add(workDir)
  await writeFile(file, `${process.pid} ${await startTime(process.pid)}\n`)
  return {
    [Symbol.dispose]() {
      held.delete(workDir)
    },
  }
}

/** The kernel's start time of a process in clock ticks since boot; undefined when it is gone, `0` where there is no /proc. */
async function startTime(pid: number): Promise<string | undefined> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  if (status !== undefined) {
    const [state = '', ...facts] = status.slice(status.lastIndexOf(')') + 2).split(' ')
    // A zombie has ended; only its parent has not asked how.
    return 'ZX'.includes(state) ? undefined : facts[18]
  }
  if (process.platform === 'linux') return undefined
  try {
    process.kill(pid, 0)
    return '0'
  } catch {
    return undefined
  }
}
