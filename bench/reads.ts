import { Pool } from 'undici'
import { type Organization, seedCatalog } from './catalog.ts'
import { CLIENTS, durations, load, median, sampledRow } from './load.ts'
import type { BenchRow, Target } from './target.ts'

const ALONE = 150

/** Reads, compared with the cheapest request, and first pages of large lists compared with small ones. */
export async function readBenches(target: Target): Promise<BenchRow[]> {
  const pool = new Pool(target.baseUrl, { connections: CLIENTS })
  await using _ = { [Symbol.asyncDispose]: () => pool.close() }
  const get = getOf(pool, target.token)
  const { thousand, large, small, member } = await seedCatalog(target)
  const workspaces = `/organizations/${thousand.name}/workspaces`
  const rows = [
    ...(await load(target, 'ping', { work: () => get('/ping') })),
    ...(await load(target, 'workspace by name', { work: () => get(`${workspaces}/bench-1`), budget: 3000 })),
    ...(await load(target, 'page of 20 of 1,000 workspaces', { work: () => get(workspaces), budget: 800 })),
  ]

  /** The same list of both organizations, alternately, so that noise of the machine affects both. */
  async function pair(name: string, path: (organization: Organization) => string, token?: string) {
    const times = { large: [] as number[], small: [] as number[] }
    await durations(target, ALONE, async () => {
      times.large.push(await timed(() => get(path(large), token)))
      times.small.push(await timed(() => get(path(small), token)))
    })
    const ratio = median(times.large) / median(times.small)
    rows.push(sampledRow({ name: `page of 20: ${name}`, unit: 'ms', better: 'less', budget: 5 }, times.large))
    rows.push({
      name: `page of 20: ${name}: against a table of 20`,
      value: ratio,
      unit: '×',
      better: 'less',
      budget: 1.2,
    })
  }

  const runsOf = ({ name }: Organization) => `/organizations/${name}/runs`
  const workspacesOf = ({ name }: Organization) => `/organizations/${name}/workspaces`
  await pair('runs of an organization with 100,000 in 10,000 workspaces', runsOf)
  await pair('runs of one of its workspaces', ({ workspaceId }) => `/workspaces/${workspaceId(1)}/runs`)
  await pair('10,000 workspaces', workspacesOf)
  await pair('10,000 workspaces to a member of a hundred teams', workspacesOf, member)
  await pair('100,000 runs to a member of a hundred teams', runsOf, member)
  return rows
}

async function timed(work: () => Promise<unknown>) {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function getOf(pool: Pool, admin: string) {
  return async (path: string, token = admin) => {
    const { statusCode, body } = await pool.request({
      method: 'GET',
      path: `/api/v2${path}`,
      headers: { authorization: `Bearer ${token}` },
    })
    const bytes = await body.bytes()
    if (statusCode >= 400)
      throw new Error(`GET ${path} failed with status ${statusCode}: ${Buffer.from(bytes).toString()}`)
  }
}
