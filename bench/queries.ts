import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'undici'
import { z } from 'zod'
import { configurationArchive, prepareWorkspace } from './runs.ts'
import { type BenchRow, memoryMb, type Target } from './target.ts'

/** Number of different queries of a reader, each sent twice, since a statement is prepared when it repeats. */
const QUESTIONS = Number(process.env['BENCH_QUESTIONS'] ?? 20_000)
const CLIENTS = 32
/** Unused connections are closed after a minute. */
const IDLE_MS = 75_000

const described = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({ parameters: z.array(z.object({ name: z.string(), in: z.string() })).optional() }).partial(),
    ),
  ),
})

/** Values that some parameter accepts; rejected ones cost nothing. */
const VALUES = [
  'true',
  'a',
  'applied',
  // oxlint-disable-next-line groundstate/run-statuses -- as a caller writes them
  'planned,applied',
  'plan_only,destroy',
  // oxlint-disable-next-line groundstate/run-statuses -- as a caller writes them
  'applied,planned,applied,errored',
  'name',
  '-name',
  'created-at',
  '-created-at',
  'latest-change-at',
  '-current-run.created-at',
  'year',
  'inbound',
]

/**
 * Queries every list with many combinations of filters, orders and page sizes, and measures the memory that the database and the server
 * keep for it, which does not depend on the number of rows.
 */
export async function queryBenches(target: Target): Promise<BenchRow[]> {
  const workspace = await prepareWorkspace(target, 'questions', configurationArchive())
  const pool = new Pool(target.baseUrl, { connections: CLIENTS })
  await using _ = { [Symbol.asyncDispose]: () => pool.close() }
  const headers = { authorization: `Bearer ${target.token}` }
  const statuses = new Map<number, number>()
  async function get(path: string) {
    const { body, statusCode } = await pool.request({ method: 'GET', path, headers })
    statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
    return body.text()
  }
  const ask = questions(described.parse(JSON.parse(await get('/api/v2/openapi.json'))), {
    organization: 'main',
    workspace: workspace.id,
  })

  const rows: BenchRow[] = []
  async function measure(when: string) {
    const [database, server] = [await backendsMb(target.pid), await memoryMb(target.pid, { alone: true })]
    rows.push({ name: `database ${when}`, value: database, unit: 'MB', better: 'less' })
    rows.push({ name: `server ${when}`, value: server, unit: 'MB', better: 'less' })
  }

  await Promise.all(Array.from({ length: CLIENTS }, async () => get('/api/v2/organizations')))
  await measure('before the questions')
  let next = 0
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let index = next++; index < QUESTIONS; index = next++) {
        const path = ask(index)
        await get(path)
        await get(path)
      }
    }),
  )
  await measure(`after ${QUESTIONS} questions`)
  await delay(IDLE_MS)
  await measure('a minute later')
  process.stdout.write(`  statuses: ${JSON.stringify(Object.fromEntries(statuses))}\n`)
  return rows
}

/** The n-th query, the same in each run: lists in rotation, each with some of its parameters. */
function questions({ paths }: z.infer<typeof described>, names: { organization: string; workspace: string }) {
  const lists = Object.entries(paths).flatMap(([path, { get }]) => {
    const parameters = (get?.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name)
    const url = path
      .replace(/\{organization\w*\}/, names.organization)
      .replace('{name}', names.organization)
      .replace(/\{workspace\w*\}/, names.workspace)
    return parameters.includes('page[size]') && !url.includes('{') ? [{ url, parameters }] : []
  })
  return (index: number) => {
    const list = lists[index % lists.length] ?? { url: '/api/v2/organizations', parameters: [] }
    const random = randomFrom(index)
    const pairs = list.parameters
      .filter(() => random() < 0.35)
      .map(
        (name) =>
          `${encodeURIComponent(name)}=${encodeURIComponent(VALUES[Math.floor(random() * VALUES.length)] ?? '')}`,
      )
      .filter((pair) => !pair.startsWith('page') && !pair.startsWith('include'))
    const page = `page%5Bsize%5D=${1 + (index % 100)}&page%5Bnumber%5D=${1 + (index % 3)}`
    return `${list.url}?${[page, ...pairs].join('&')}`
  }
}

/** A sequence of numbers below 1 (mulberry32). */
function randomFrom(seed: number) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Proportional memory of all processes of the database, in MB. */
async function backendsMb(pid: number): Promise<number> {
  return (await memoryMb(pid)) - (await memoryMb(pid, { alone: true }))
}
