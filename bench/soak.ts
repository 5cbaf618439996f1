import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { median, percentile } from './load.ts'
import { configurationArchive, prepareWorkspace, startRun, untilApplied } from './runs.ts'
import { type Sample, soakChart, soakPage } from './soak-page.ts'
import { type Ids, SOAK, seedSoak } from './soak-seed.ts'
import { bodyOf, KB, stateOf } from './state-bodies.ts'
import { type BenchRow, type Target, memoryMb } from './target.ts'

/** In the first minutes the caches fill and the heap grows to its size. */
const MINUTES = Number(process.env['BENCH_SOAK_MINUTES'] ?? 12)
/** Budgets in ms: of a page of a list alone, and of the 95 % under load. */
const LIST_BUDGET_MS = 10
const LOADED_BUDGET_MS = 250
/** Growth of the server's memory in the last third of the load, in MB per minute, that counts as flat. */
const GROWTH_BUDGET = 2
/** Requests for each list; in the first half, each connection prepares its statements, and code is compiled. */
const TIMES = 100
const READERS = 6
const WRITERS = 2
const STATE_BYTES = 20 * KB
/** Beyond those of the seeded states. */
const FIRST_SERIAL = 100
const WATCHERS = 40
const SAMPLE_MS = 2_000
const CHART = join(import.meta.dirname, '../docs/images/soak.svg')
const PAGE = join(import.meta.dirname, '../docs/SOAK.md')

/**
 * The first page of every list of the API in an installation of 10,000 workspaces, 50,000 runs and 200,000 states, then minutes of
 * mixed load, in which memory must stay flat. Writes the page of the documentation and its chart.
 */
export async function soakBenches(target: Target): Promise<BenchRow[]> {
  const { ids } = await seedSoak(target)
  await using client = new Client(target)
  const lists = await listsOf(target, ids)
  const alone = await alonePages(client, lists)
  const { samples, counts, latencies } = await loadFor(target, client, lists)
  const figures = figuresOf({ alone, samples, counts, latencies })
  await mkdir(dirname(CHART), { recursive: true })
  await writeFile(CHART, soakChart(samples))
  await writeFile(PAGE, soakPage({ load: LOAD, lists: alone, figures }))
  return [...alone, ...figures]
}

const { workspaces, runs, states } = SOAK
const LOAD = `For ${MINUTES} minutes, ${READERS} clients read lists, ${WRITERS} store states of ${STATE_BYTES / KB} KB, ${WATCHERS} pages with live updates
open and close, and one workspace has a run after the other, in an installation of ${count(workspaces)} workspaces, ${count(runs)} runs and ${count(states)} state
versions. Memory is measured in the last third.`

function count(value: number) {
  return value.toLocaleString('en')
}

type Loaded = Awaited<ReturnType<typeof loadFor>>

function figuresOf({ alone, samples, counts, latencies }: Loaded & { alone: readonly BenchRow[] }): BenchRow[] {
  const loaded = samples.slice(-Math.ceil(samples.length / 3))
  const ms = { unit: 'ms', better: 'less' } as const
  const mb = { unit: 'MB', better: 'less' } as const
  const growing = { unit: 'MB/min', better: 'less', budget: GROWTH_BUDGET } as const
  const slowest = Math.max(...alone.map(({ value }) => value))
  return [
    { name: `lists (${alone.length}): slowest median`, value: slowest, ...ms, budget: LIST_BUDGET_MS },
    { name: 'lists under load: median', value: median(latencies), ...ms },
    { name: 'lists under load: 95 %', value: percentile(latencies, 0.95), ...ms, budget: LOADED_BUDGET_MS },
    { name: 'pages read', value: counts.pages / (MINUTES * 60), unit: '/s', better: 'more' },
    { name: 'states stored', value: counts.states / (MINUTES * 60), unit: '/s', better: 'more' },
    { name: 'runs applied', value: counts.runs / MINUTES, unit: '/min', better: 'more' },
    { name: 'memory of the server, median', value: median(loaded.map(({ server }) => server)), ...mb },
    { name: 'memory of the database, median', value: median(loaded.map(({ database }) => database)), ...mb },
    { name: 'growth of the memory of the server', value: growth(loaded, 'server'), ...growing },
    { name: 'growth of the memory of the database', value: growth(loaded, 'database'), ...growing },
  ]
}

type Parameter = { $ref?: string; name: string }
type Document = {
  paths: Record<string, { get?: { parameters?: Parameter[] } }>
  components: { parameters: Record<string, Parameter> }
}

/** Parts of lists that are not seeded, since agents and releases make them. */
const UNSEEDED = new Set(['policy-evaluations', 'policy-trials', 'vcs-deliveries', 'versions'])

/** The organization's audit trail for the token that only reads it. */
const OF_AUDIT_TOKEN = '/organization/audit-trail'

/** A list: its path in the description of the API, and the one to request, with ids for the parameters. */
type List = { name: string; path: string }

/** All lists that have pages, from the API's own description. */
async function listsOf(target: Target, ids: Ids): Promise<List[]> {
  const document = (await (await fetch(`${target.baseUrl}/api/v2/openapi.json`)).json()) as Document
  const isPaged = (parameters: readonly Parameter[]) =>
    parameters.some(
      ({ $ref = '', name }) =>
        (name ?? document.components.parameters[$ref.split('/').at(-1) ?? '']?.name) === 'page[size]',
    )
  const paths = Object.entries(document.paths)
    .filter(([, { get }]) => isPaged(get?.parameters ?? []))
    .map(([path]) => path.replace('/api/v2', ''))
  if (paths.length === 0) throw new Error('the description of the API has no lists')
  return paths
    .filter((path) => path !== OF_AUDIT_TOKEN)
    .flatMap((path) => {
      const filled = fill(path, ids)
      return filled === undefined ? [] : { name: path, path: `${filled}${query(filled, ids)}` }
    })
}

/** The filter that a list requires. */
function query(path: string, { workspaces, teams, organizations }: Ids) {
  if (path === '/state-versions')
    return `?filter[workspace][name]=service-1&filter[organization][name]=${organizations}`
  if (path === '/runs') return `?workspace_id=${workspaces}&organization_name=${organizations}`
  if (path === '/team-workspaces') return `?filter[workspace][id]=${workspaces}`
  if (path === '/team-projects') return `?filter[team][id]=${teams}`
  return path.endsWith('/run-triggers') && path.startsWith('/workspaces') ? '?filter[run-trigger][type]=outbound' : ''
}

/** The path with ids, or undefined for a list of something that is not seeded. */
function fill(path: string, ids: Ids): string | undefined {
  const segments = path.split('/')
  let isKnown = true
  const values = segments.map((segment, index) => {
    if (!segment.startsWith('{')) return segment
    const noun = String(segments[index - 1])
    const value = ids[segment] ?? ids[noun]
    if (value === undefined && !UNSEEDED.has(noun)) throw new Error(`no id for ${segment} of ${path}`)
    isKnown &&= value !== undefined
    return value ?? ''
  })
  return isKnown ? values.join('/') : undefined
}

/** The first page of each list with 20 entries, in sequence. */
async function alonePages(client: Client, lists: readonly List[]): Promise<BenchRow[]> {
  const rows: BenchRow[] = []
  for (const { path } of lists) await client.time(path)
  for (const { name, path } of lists) {
    const times: number[] = []
    for (let turn = 0; turn < TIMES; turn += 1) times.push(await client.time(path))
    const value = median(times.slice(TIMES / 2))
    rows.push({ name, value, unit: 'ms', better: 'less', budget: LIST_BUDGET_MS })
  }
  return rows
}

/** Readers of lists, writers of states, a workspace with runs of the engine, and pages that open and close their stream. */
async function loadFor(target: Target, client: Client, lists: readonly List[]) {
  const started = performance.now()
  const end = started + MINUTES * 60_000
  const isOver = () => performance.now() > end
  const samples: Sample[] = []
  const latencies: number[] = []
  const counts = { pages: 0, states: 0, runs: 0 }
  let recent: number[] = []

  async function read(reader: number) {
    for (let turn = reader; !isOver(); turn += READERS) {
      const ms = await client.time(lists[turn % lists.length]?.path ?? '')
      latencies.push(ms)
      recent.push(ms)
      counts.pages += 1
    }
  }

  async function write(writer: number) {
    const others = SOAK.workspaces - 1
    const serialOf = (turn: number) => FIRST_SERIAL + Math.floor(turn / others)
    let body = bodyOf(stateOf(FIRST_SERIAL, STATE_BYTES), FIRST_SERIAL)
    for (let turn = writer; !isOver(); turn += WRITERS) {
      const serial = serialOf(turn)
      if (serial !== serialOf(turn - WRITERS)) body = bodyOf(stateOf(serial, STATE_BYTES), serial)
      const number = (turn % others) + 2
      // The seed has locked these.
      if (number % 500 === 5) continue
      const workspace = `ws-vast${number}`
      await client.send('POST', `/workspaces/${workspace}/actions/lock`)
      await client.send('POST', `/workspaces/${workspace}/state-versions`, body.inline)
      await client.send('POST', `/workspaces/${workspace}/actions/unlock`)
      counts.states += 1
    }
  }

  async function run() {
    const workspace = await prepareWorkspace(target, 'soak-runs', configurationArchive(), 'vast')
    while (!isOver()) {
      const id = await startRun(target, workspace)
      await untilApplied(target, id)
      counts.runs += 1
    }
  }

  async function watch(watcher: number) {
    await pause(watcher * 100)
    while (!isOver()) await client.watch(5_000 + watcher * 200)
  }

  async function sample() {
    while (!isOver()) {
      await pause(SAMPLE_MS)
      const all = await memoryMb(target.pid)
      const server = await memoryMb(target.pid, { alone: true })
      const seconds = (performance.now() - started) / 1000
      // On a busy machine, no page may have been read since the last sample.
      if (recent.length === 0) continue
      samples.push({ seconds, server, database: all - server, median: median(recent), p95: percentile(recent, 0.95) })
      recent = []
    }
  }

  await Promise.all([
    ...Array.from({ length: READERS }, (_, reader) => read(reader)),
    ...Array.from({ length: WRITERS }, (_, writer) => write(writer)),
    ...Array.from({ length: WATCHERS }, (_, watcher) => watch(watcher)),
    run(),
    sample(),
  ])
  return { samples, counts, latencies }
}

/** Slope of the least-squares line, per minute. */
function growth(samples: readonly Sample[], key: 'server' | 'database') {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(samples.map(({ seconds }) => seconds)), mean(samples.map((sample) => sample[key]))]
  const covariance = samples.reduce((sum, sample) => sum + (sample.seconds - x) * (sample[key] - y), 0)
  return (covariance / samples.reduce((sum, { seconds }) => sum + (seconds - x) ** 2, 0)) * 60
}

class Client implements AsyncDisposable {
  #pool: Pool
  #token: string

  constructor({ baseUrl, token }: Target) {
    this.#pool = new Pool(baseUrl, { connections: READERS + WRITERS + WATCHERS })
    this.#token = token
  }

  /** Duration of a page of 20 entries, in ms. Throws unless the response is 200. */
  async time(path: string) {
    const started = performance.now()
    await this.send('GET', `${path}${path.includes('?') ? '&' : '?'}page[size]=20`)
    return performance.now() - started
  }

  async send(method: 'GET' | 'POST', path: string, body?: Buffer) {
    const response = await this.#pool.request({
      method,
      path: `/api/v2${path.replaceAll('[', '%5B').replaceAll(']', '%5D')}`,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/vnd.api+json' },
      ...(body !== undefined && { body }),
    })
    const text = await response.body.text()
    if (response.statusCode >= 400)
      throw new Error(`${method} ${path} failed with status ${response.statusCode}: ${text}`)
  }

  /** Reads the stream of changes for some time, in ms. */
  async watch(ms: number) {
    const response = await this.#pool.request({
      method: 'GET',
      path: '/api/v2/organizations/vast/changes',
      headers: { authorization: `Bearer ${this.#token}`, accept: 'text/event-stream' },
    })
    const closed = new Promise<void>((resolve) => void response.body.once('close', resolve))
    response.body.on('error', () => {}).resume()
    const timer = setTimeout(() => response.body.destroy(), ms)
    await closed
    clearTimeout(timer)
  }

  async [Symbol.asyncDispose]() {
    await this.#pool.destroy()
  }
}
