import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { type Body, bodyOf, stateOf } from './state-bodies.ts'
import { api, type BenchRow, memoryMb, type Target } from './target.ts'

const WORKSPACES = 1000
const READERS = 100
const WRITERS = 4
/** 1.2 GB in total. */
const STATES = 240
const STATE_BYTES = 5 * 1024 * 1024
const SAMPLE_MS = 250
/** Time after the start, and after the end of the load, at which the server counts as idle. */
const STARTED_MS = 5000
const GONE_MS = 120_000

/**
 * The memory of server and database: shortly after the start, at its peak while 1.2 GB of states are stored and read among 1,000
 * workspaces by 100 readers, and two minutes after the load.
 */
export async function memoryBenches(target: Target): Promise<BenchRow[]> {
  await pause(STARTED_MS)
  const started = await memoryMb(target.pid)
  const peak = await peakOf(target, () => load(target))
  await pause(GONE_MS)
  const after = await memoryMb(target.pid)
  const serverAfter = await memoryMb(target.pid, { alone: true })
  const row = (name: string, value: number, budget?: number): BenchRow => ({
    name,
    value,
    unit: 'MB',
    better: 'less',
    ...(budget !== undefined && { budget }),
  })
  return [
    row('memory 5 s after the start, server and database', started, 150),
    row('memory at the peak of 1.2 GB stored and read', peak.all, 350),
    row('memory at the peak, server', peak.server),
    row('memory two minutes after the load', after, 150),
    row('memory two minutes after the load, server', serverAfter),
  ]
}

/** Peak memory during `work`. */
async function peakOf(target: Target, work: () => Promise<unknown>) {
  const peak = { all: 0, server: 0 }
  const stop = new AbortController()
  async function sample() {
    while (!stop.signal.aborted) {
      peak.all = Math.max(peak.all, await memoryMb(target.pid))
      peak.server = Math.max(peak.server, await memoryMb(target.pid, { alone: true }))
      await pause(SAMPLE_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  const sampling = sample()
  try {
    await work()
  } finally {
    stop.abort()
    await sampling
  }
  return peak
}

async function load(target: Target) {
  const organization = `memory-${Date.now().toString(36)}`
  await api(target, 'POST', '/organizations', {
    data: { type: 'organizations', attributes: { name: organization, email: 'bench@example.com' } },
  })
  const workspaces = await roundRobin(16, WORKSPACES, async (index) => {
    const attributes = { name: `memory-${index}` }
    const path = `/organizations/${organization}/workspaces`
    return (await api(target, 'POST', path, { data: { type: 'workspaces', attributes } })).data.id
  })
  const bodies = Array.from({ length: 6 }, (_, index) => bodyOf(stateOf(index + 1, STATE_BYTES), index + 1))
  await using readers = new Readers(target, organization, workspaces)
  const write = async () => {
    await roundRobin(WRITERS, STATES, async (index) => {
      await store(target, String(workspaces[index]), bodies[index % bodies.length] as Body)
      readers.stored += 1
    })
    readers.stop()
  }
  await Promise.all([readers.read(), write()])
}

async function store(target: Target, workspace: string, body: Body) {
  await api(target, 'POST', `/workspaces/${workspace}/actions/lock`, {})
  await api(target, 'POST', `/workspaces/${workspace}/state-versions`, JSON.parse(body.inline.toString()))
}

/** Calls `work` for each number below `count`, `width` concurrently. */
async function roundRobin<T>(width: number, count: number, work: (index: number) => Promise<T>) {
  const results: T[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let index = next++; index < count; index = next++) results[index] = await work(index)
    }),
  )
  return results
}

/** They read pages of workspaces, state versions and whole states. */
class Readers implements AsyncDisposable {
  stored = 0
  #pool: Pool
  #token: string
  #organization: string
  #workspaces: readonly string[]
  #isStopped = false

  constructor(target: Target, organization: string, workspaces: readonly string[]) {
    this.#pool = new Pool(target.baseUrl, { connections: READERS })
    this.#token = target.token
    this.#organization = organization
    this.#workspaces = workspaces
  }

  async read() {
    await Promise.all(Array.from({ length: READERS }, (_, reader) => this.#readOn(reader)))
  }

  stop() {
    this.#isStopped = true
  }

  async #readOn(reader: number) {
    for (let turn = reader; !this.#isStopped; turn += 1) {
      const page = (turn % 50) + 1
      await this.#get(`/api/v2/organizations/${this.#organization}/workspaces?page%5Bnumber%5D=${page}`)
      const workspace = this.#workspaces[this.stored === 0 ? 0 : turn % this.stored]
      const current = await this.#get(`/api/v2/workspaces/${workspace}/current-state-version`)
      const url = /"hosted-state-download-url":"([^"]+)"/.exec(current)?.[1]
      if (url !== undefined) await this.#drain(new URL(url).pathname)
    }
  }

  async #get(path: string) {
    const response = await this.#pool.request({
      method: 'GET',
      path,
      headers: { authorization: `Bearer ${this.#token}` },
    })
    const text = await response.body.text()
    if (response.statusCode >= 400 && response.statusCode !== 404) throw new Error(`GET ${path} failed: ${text}`)
    return text
  }

  async #drain(path: string) {
    const response = await this.#pool.request({ method: 'GET', path })
    for await (const chunk of response.body) if (response.statusCode >= 400) throw new Error(String(chunk))
  }

  async [Symbol.asyncDispose]() {
    this.#isStopped = true
    await this.#pool.destroy()
  }
}
