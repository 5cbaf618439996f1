import { randomUUID } from 'node:crypto'
import { access, mkdir, readFile, readdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../process/errors.ts'
import type { CgroupSpec } from '../process/launcher-process.ts'

export type ResourceLimits = {
  /** In bytes. */
  memory?: number | undefined
  /** Number of processes and threads. */
  pids?: number | undefined
  /** Number of processors, such as 1.5. */
  cpu?: number | undefined
}

const NAME = 'groundstate-run-'
const CPU_PERIOD_US = 100_000
/** Child cgroup for this process and its siblings: a cgroup that limits its children cannot contain processes. */
const HOME = 'groundstate-agent'

export type Cgroups = { next: () => CgroupSpec }

/** Prepares cgroups of version 2 for programs with these limits. Returns a text if that is impossible. */
export async function openCgroups(limits: ResourceLimits, base?: string): Promise<Cgroups | string> {
  const parent = base ?? (await ownCgroup())
  if (parent === undefined) return 'this process has no cgroup of version 2'
  try {
    const required = (['memory', 'pids', 'cpu'] as const).filter((name) => limits[name] !== undefined)
    const controllers = await words(join(parent, 'cgroup.controllers'))
    const missing = required.filter((name) => !controllers.includes(name))
    if (missing.length > 0) return `${parent} has no controller for ${missing.join(', ')}`
    const home = await enable(parent, required)
    for (const name of await readdir(parent)) {
      if (name.startsWith(NAME)) await rmdir(join(parent, name)).catch(() => {})
    }
    const nextDirectory = () => join(parent, `${NAME}${randomUUID()}`)
    const settings = await testedSettings(nextDirectory(), limits)
    return { next: () => ({ directory: nextDirectory(), home, settings }) }
  } catch (error) {
    return `the cgroup ${parent} is not usable: ${messageOf(error)}`
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

/** Enables controllers for child cgroups; returns the `cgroup.procs` of this process afterwards. */
async function enable(parent: string, controllers: readonly string[]): Promise<string> {
  const control = join(parent, 'cgroup.subtree_control')
  const own = join(parent, 'cgroup.procs')
  const enabled = await words(control)
  if (controllers.every((name) => enabled.includes(name))) return own
  const text = controllers.map((name) => `+${name}`).join(' ')
  if (await succeeds(writeFile(control, text))) return own
  const home = join(parent, HOME)
  await mkdir(home, { recursive: true })
  for (const pid of await words(own)) await writeFile(join(home, 'cgroup.procs'), pid).catch(() => {})
  await writeFile(control, text)
  return join(home, 'cgroup.procs')
}

/** The cgroup settings for these limits, tested on a new cgroup. */
async function testedSettings(directory: string, { memory, pids, cpu }: ResourceLimits) {
  const settings: Record<string, string> = {
    // Kills all processes of the program together: an engine without its provider is useless.
    ...(memory !== undefined && { 'memory.max': String(memory), 'memory.oom.group': '1' }),
    ...(pids !== undefined && { 'pids.max': String(pids) }),
    ...(cpu !== undefined && { 'cpu.max': `${Math.round(cpu * CPU_PERIOD_US)} ${CPU_PERIOD_US}` }),
  }
  await mkdir(directory)
  try {
    for (const [name, value] of Object.entries(settings)) await writeFile(join(directory, name), value)
    // Exists only in kernels with swap.
    const swap = 'memory.swap.max'
    if (memory !== undefined && (await succeeds(access(join(directory, swap))))) settings[swap] = '0'
    return settings
  } finally {
    await rmdir(directory).catch(() => {})
  }
}

async function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(() => true).catch(() => false)
}

async function words(path: string): Promise<string[]> {
  return (await readFile(path, 'utf8')).split(/\s+/).filter((word) => word !== '')
}
