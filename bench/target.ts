import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Turn } from './turns.ts'

/**
 * A measured value; `budget` is its target, `better` the direction of improvement. `samples` are in the order in which they
 * were taken, and the value is their median.
 */
export type BenchRow = {
  name: string
  value: number
  unit: string
  better: 'less' | 'more'
  budget?: number
  samples?: readonly number[]
}

/** A server under measurement, in a separate process. */
export type Target = {
  baseUrl: string
  token: string
  dataDir: string
  pid: number
  /** Time from the start of the process to ready, in ms. */
  readyMs: number
  /** Defined if two trees are compared: suites call it before each slice of their work. */
  turn: Turn | undefined
  /** Starts another server of the same tree. */
  start: (settings?: Record<string, string>, dataDir?: string) => Promise<Target>
  stop: () => Promise<void>
}

/** A checkout under measurement, with its dependencies installed. */
type Tree = { root: string; turn: Turn | undefined }

/** Starts a server of a tree on a data directory, by default a new one that is removed at the end. */
export async function startTarget(
  tree: Tree,
  settings: Record<string, string> = {},
  dataDir?: string,
): Promise<Target> {
  const directory = dataDir ?? (await mkdtemp(join(tmpdir(), 'groundstate-bench-')))
  const token = 'bench-admin-token-0123456789'
  const started = performance.now()
  const child: ChildProcess = spawn(join(tree.root, 'server/bin/groundstate'), ['serve'], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      GROUNDSTATE_PORT: '0',
      GROUNDSTATE_DATA_DIR: directory,
      GROUNDSTATE_ADMIN_TOKEN: token,
      GROUNDSTATE_LOG_LEVEL: 'warn',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const baseUrl = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout?.on('data', (data: Buffer) => {
      output += data.toString()
      const url = /ready at (https?:\/\/\S+)/.exec(output)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}\n${output}`)))
  })
  const readyMs = performance.now() - started
  let isStopping = false
  const ended = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      if (!isStopping) process.stderr.write(`the server ended with ${signal ?? code} during the measurement\n`)
      resolve()
    })
  })
  return {
    baseUrl,
    token,
    dataDir: directory,
    pid: child.pid ?? 0,
    readyMs,
    turn: tree.turn,
    start: (settings, dataDir) => startTarget(tree, settings, dataDir),
    async stop() {
      isStopping = true
      child.kill('SIGTERM')
      await ended
      if (dataDir === undefined) await rm(directory, { recursive: true, force: true })
    },
  }
}

/** The part of a single-resource response that the benchmarks read; its attributes depend on the type. */
export type ApiResponse = {
  data: {
    id: string
    attributes: {
      status: string
      token: string
      'resources-processed': boolean
      'status-timestamps': Record<string, string>
      'upload-url': string
      'hosted-state-upload-url': string
      'hosted-state-download-url': string
    }
    relationships: { outputs: { data: { id: string }[] } }
  }
}

/** A request to the API; throws on a status of 400 or more. */
export async function api(target: Target, method: string, path: string, body?: unknown): Promise<ApiResponse> {
  const response = await fetch(path.startsWith('http') ? path : `${target.baseUrl}/api/v2${path}`, {
    method,
    headers: {
      authorization: `Bearer ${target.token}`,
      ...(body !== undefined && { 'content-type': 'application/vnd.api+json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (response.status >= 400) throw new Error(`${method} ${path} failed with status ${response.status}: ${text}`)
  return (text === '' ? {} : JSON.parse(text)) as ApiResponse
}

/** Proportional memory (shared pages counted once) of a process and, unless `alone`, its descendants, in MB. */
export async function memoryMb(pid: number, { alone = false } = {}): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
  const own = Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024
  if (alone) return own
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  let total = own
  for (const child of children.trim().split(' ').filter(Boolean)) total += await memoryMb(Number(child))
  return total
}

const TICK_MS = 10

/** Processor time of a process and its descendants so far, in ms, in steps of 10 ms. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The program's name is in brackets and may contain anything; the four times (own, of ended children) are
  // fields 14 to 17.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const own = fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks) * TICK_MS, 0)
  const children = await childrenOf(pid)
  const times = await Promise.all(children.map(cpuMs))
  return times.reduce((total, time) => total + time, own)
}

/** Processor time of a server, its database and its completed engines so far, in ms. */
export async function cpuParts(pid: number): Promise<{ server: number; database: number; engines: number }> {
  const parts = { server: 0, database: 0, engines: 0 }
  const walk = async (process: number, isEngine: boolean) => {
    const stat = await readFile(`/proc/${process}/stat`, 'utf8').catch(() => '')
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map((ticks) => Number(ticks) * TICK_MS)
    const isDatabase = name === 'postgres'
    parts[isEngine ? 'engines' : isDatabase ? 'database' : 'server'] += user + system
    // Completed children are engines, or backends of the database.
    parts[isDatabase ? 'database' : 'engines'] += endedUser + endedSystem
    for (const child of await childrenOf(process)) await walk(child, /^(terraform|tofu)$/.test(await nameOf(child)))
  }
  await walk(pid, false)
  return parts
}

async function nameOf(pid: number) {
  return (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim()
}

/** Children of all its threads: each lists the processes that it started. */
async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  )
  return lists.flatMap((list) => list.trim().split(' ').filter(Boolean).map(Number))
}
