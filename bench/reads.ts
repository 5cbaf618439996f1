import { Pool } from 'undici'
import { type Catalog, seedCatalog } from './catalog.ts'
import { type BenchRow, cpuMs, percentile, rate, type Target } from './target.ts'

const CLIENTS = 16
const WINDOW_MS = 4000
const ALONE = 150

type Client = { get: (path: string, token?: string) => Promise<unknown>; post: (path: string) => Promise<unknown> }

/**
 * Reads and locks, beside the cheapest request there is. On a machine that does other work only two things can be
 * compared: the time that the processors spent on a request, and rows of one run with each other.
 */
export async function readBenches(target: Target): Promise<BenchRow[]> {
  const pool = new Pool(target.baseUrl, { connections: CLIENTS })
  await using _ = { [Symbol.asyncDispose]: () => pool.close() }
  const client = clientOf(pool, target.token)
  const catalog = await seedCatalog(target)
  const rows: BenchRow[] = []

  async function load(name: string, work: (client: number) => Promise<unknown>, budget?: number) {
    await rate(CLIENTS, WINDOW_MS / 4, work)
    const before = await cpuMs(target.pid)
    const started = performance.now()
    const value = await rate(CLIENTS, WINDOW_MS, work)
    const calls = (value * (performance.now() - started)) / 1000
    const cpu = ((await cpuMs(target.pid)) - before) / calls
    rows.push({ name, value, unit: '/s', better: 'more', ...(budget !== undefined && { budget }) })
    rows.push({ name: `${name}: processor time`, value: cpu, unit: 'ms', better: 'less' })
  }

  /** The large list against the small one, in turns, so that both meet the same machine. */
  async function pair(name: string, large: () => Promise<unknown>, small: () => Promise<unknown>) {
    const times = { large: [] as number[], small: [] as number[] }
    for (let index = 0; index < ALONE; index += 1) {
      times.large.push(await timed(large))
      times.small.push(await timed(small))
    }
    const value = percentile(times.large, 0.5)
    rows.push({ name, value, unit: 'ms', better: 'less', budget: 5 })
    const ratio = value / percentile(times.small, 0.5)
    rows.push({ name: `${name}: against a table of 20`, value: ratio, unit: '×', better: 'less', budget: 1.2 })
  }

  await load('ping', () => client.get('/ping'))
  const { thousand, large, small } = catalog
  await load('workspace by name', () => client.get(`/organizations/${thousand.name}/workspaces/bench-1`), 3000)
  await load('page of 20 of 1,000 workspaces', () => client.get(`/organizations/${thousand.name}/workspaces`), 800)
  await load(
    'lock and unlock, pairs',
    async (number) => {
      const workspace = `/workspaces/${thousand.workspaceId(number + 1)}`
      await client.post(`${workspace}/actions/lock`)
      await client.post(`${workspace}/actions/unlock`)
    },
    800,
  )
  await pairs(catalog)
  return rows

  async function pairs({ member }: Catalog) {
    const organizations = (path: string, token?: string) =>
      [large, small].map(
        ({ name }) =>
          () =>
            client.get(`/organizations/${name}/${path}`, token),
      )
    const workspaces = (path: string) =>
      [large, small].map(
        ({ workspaceId }) =>
          () =>
            client.get(`/workspaces/${workspaceId(1)}/${path}`),
      )
    for (const [name, works] of [
      ['runs of an organization with 100,000 in 10,000 workspaces', organizations('runs')],
      ['runs of one of its workspaces', workspaces('runs')],
      ['10,000 workspaces', organizations('workspaces')],
      ['10,000 workspaces to a member of a hundred teams', organizations('workspaces', member)],
      ['100,000 runs to a member of a hundred teams', organizations('runs', member)],
    ] as const) {
      const [many, few] = works
      if (many && few) await pair(`page of 20: ${name}`, many, few)
    }
  }
}

async function timed(work: () => Promise<unknown>) {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function clientOf(pool: Pool, admin: string): Client {
  async function send(method: 'GET' | 'POST', path: string, token = admin) {
    const { statusCode, body } = await pool.request({
      method,
      path: `/api/v2${path}`,
      headers: { authorization: `Bearer ${token}` },
    })
    const bytes = await body.bytes()
    if (statusCode < 400) return bytes
    throw new Error(`${method} ${path} answered ${statusCode}: ${Buffer.from(bytes).toString()}`)
  }
  return { get: (path, token) => send('GET', path, token), post: (path) => send('POST', path) }
}
