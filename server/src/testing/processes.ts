import { readdir, readFile } from 'node:fs/promises'

/** The living processes whose command line contains `text`, such as a data directory, and their descendants. */
export async function findProcesses(text: string): Promise<number[]> {
  const found = new Set<number>()
  for (const name of await readdir('/proc')) {
    const pid = Number(name)
    if (Number.isNaN(pid) || pid === process.pid) continue
    if ((await read(`/proc/${pid}/cmdline`)).includes(text)) await addTree(pid, found)
  }
  return [...found]
}

/** A process and its descendants; empty if it has ended. */
export async function treeOf(pid: number): Promise<number[]> {
  const found = new Set<number>()
  if ((await read(`/proc/${pid}/stat`)) !== '') await addTree(pid, found)
  return [...found]
}

/** The running processes, without zombies. */
export async function filterRunning(pids: readonly number[]): Promise<number[]> {
  const states = await Promise.all(pids.map((pid) => read(`/proc/${pid}/stat`)))
  return pids.filter((_, index) => /\) [^ZX] [^)]*$/.test(states[index] ?? ''))
}

/** The parent and the process group of a process. */
export async function parentAndGroupOf(pid: number): Promise<{ parent: number; group: number }> {
  const stat = await read(`/proc/${pid}/stat`)
  // The program's name is in brackets and may contain any text; state, parent and group follow.
  const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { parent: Number(parent), group: Number(group) }
}

async function addTree(pid: number, found: Set<number>) {
  if (found.has(pid)) return
  found.add(pid)
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(threads.map((thread) => read(`/proc/${pid}/task/${thread}/children`)))
  for (const child of lists.join(' ').split(' ').filter(Boolean)) await addTree(Number(child), found)
}

/** Empty when the process has ended. */
async function read(path: string) {
  return readFile(path, 'utf8').catch(() => '')
}
