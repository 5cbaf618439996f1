import { randomUUID } from 'node:crypto'
import { access, mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CgroupSpec } from '../process/launcher-process.ts'

/** Resource limits of one process of a run. */
export type ResourceLimits = {
  /** In bytes. */
  memory?: number | undefined
  /** Processes and threads. */
  pids?: number | undefined
  /** In processors; 1.5 is one and a half. */
  cpu?: number | undefined
}

const NAME = 'groundstate-run-'
const CPU_PERIOD_US = 100_000
/** Child cgroup for this process and its siblings: a cgroup that limits its children cannot contain processes. */
const HOME = 'groundstate-agent'

export type Cgroups = { next: () => CgroupSpec }

/** Prepares cgroups of version 2 for programs with these limits. A text says what is missing for that. */
export async function openCgroups(limits: ResourceLimits, base?: string): Promise<Cgroups | string> {
  const parent = base ?? (await ownCgroup())
  if (parent === undefined) return 'this process has no cgroup of version 2'
  try {
    const wanted = (['memory', 'pids', 'cpu'] as const).filter((name) => limits[name] !== undefined)
    const controllers = await words(join(parent, 'cgroup.controllers'))
    const missing = wanted.filter((name) => !controllers.includes(name))
    if (missing.length > 0) return `${parent} has no controller for ${missing.join(', ')}`
    const home = await enable(parent, wanted)
    for (const name of await readdir(parent)) {
      // What a killed agent has left; one with processes stays.
      if (name.startsWith(NAME)) await rmdir(join(parent, name)).catch(() => {})
    }
    const settings = await tried(join(parent, `${NAME}${randomUUID()}`), limits)
    return { next: () => ({ directory: join(parent, `${NAME}${randomUUID()}`), home, settings }) }
  } catch (error) {
    return `the cgroup ${parent} can't be used: ${error instanceof Error ? error.message : String(error)}`
  }
}

async function ownCgroup(): Promise<string | undefined> {
  const [mounts, own] = await Promise.all(
    ['mountinfo', 'cgroup'].map((name) => readFile(`/proc/self/${name}`, 'utf8').catch(() => '')),
  )
  const mount = mounts?.split('\n').find((line) => line.includes(' - cgroup2 '))
  const path = /^0::(.*)$/m.exec(own ?? '')?.[1]
  const point = mount?.split(' ')[4]
  return path === undefined || point === undefined ? undefined : join(point, path)
}

/** Lets cgroups below have limits; answers the `cgroup.procs` in which this process is afterwards. */
async function enable(parent: string, controllers: readonly string[]): Promise<string> {
  const control = join(parent, 'cgroup.subtree_control')
  const own = join(parent, 'cgroup.procs')
  const enabled = await words(control)
  if (controllers.every((name) => enabled.includes(name))) return own
  const text = controllers.map((name) => `+${name}`).join(' ')
  const busy = await writeFile(control, text).then(
    () => false,
    () => true,
  )
  if (!busy) return own
  const home = join(parent, HOME)
  await mkdir(home, { recursive: true })
  for (const pid of await words(own)) await writeFile(join(home, 'cgroup.procs'), pid).catch(() => {})
  await writeFile(control, text)
  return join(home, 'cgroup.procs')
}

/** The settings that the kernel takes for these limits, tried out on a cgroup. */
async function tried(directory: string, { memory, pids, cpu }: ResourceLimits): Promise<Record<string, string>> {
  const settings = {
    // All processes of the program end together: an engine without its provider is of no use.
    ...(memory !== undefined && { 'memory.max': String(memory), 'memory.oom.group': '1' }),
    ...(pids !== undefined && { 'pids.max': String(pids) }),
    ...(cpu !== undefined && { 'cpu.max': `${Math.round(cpu * CPU_PERIOD_US)} ${CPU_PERIOD_US}` }),
  }
  await mkdir(directory)
  try {
    for (const [name, value] of Object.entries(settings)) await writeFile(join(directory, name), value)
    if (memory === undefined) return settings
    // Only a kernel with swap has it.
    const swap = await access(join(directory, 'memory.swap.max')).then(
      () => ({ 'memory.swap.max': '0' }),
      () => ({}),
    )
    return { ...settings, ...swap }
  } finally {
    await rmdir(directory).catch(() => {})
  }
}

async function words(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8')).split(/\s+/).filter((word) => word !== '')
}
