import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { queryParser } from '../../../http/query.ts'
import { createTestApp } from '../../../testing/app.ts'
import type { TestUser } from '../../../testing/factories.ts'
import { createRandom } from '../../../testing/random.ts'
import { FILTER_QUERY, type RunFilter, runFilter } from './filter.ts'
import { type SearchPlan, findFewRunIds, findRunIds, searchPlans } from './search-store.ts'
import { type RunQuery, expectedRuns } from './testing/expected-runs.ts'
import { createManyRuns } from './testing/many-runs.ts'
import { someQueries } from './testing/random-queries.ts'

const app = await createTestApp()
const random = createRandom(20_260)
const { settings, places, users, runs, members } = await createManyRuns(app, random)
const [{ organization, user: owner, workspaceId }] = settings
const inOrganization = runs.filter((run) => run.organization === organization)
const { id: organizationId } = await app.db
  .selectFrom('organizations')
  .select('id')
  .where('name', '=', organization)
  .executeTakeFirstOrThrow()
const known = {
  workspaceNames: places.map(({ workspaceName }) => workspaceName),
  usernames: users.map(({ username }) => username),
  now: app.clock.now(),
}
const parseQuery = queryParser(FILTER_QUERY)
const queries = someQueries(random, known, 110)
const viewers = [{ user: owner, sees: undefined }, ...members]
const SIZES = [7, 40, 100] as const

/** All pages of a list of the API, and the total. */
async function listed(path: string, { query, user, size }: { query: RunQuery; user: TestUser; size: number }) {
  const ids: string[] = []
  for (let number = 1; ; number += 1) {
    const parameters = new URLSearchParams({ ...query, 'page[size]': `${size}`, 'page[number]': `${number}` })
    const response = await app.request({ url: `/api/v2/${path}/runs?${parameters.toString()}`, token: user.token })
    expect(response.status).toBe(200)
    const { data, meta } = response.json()
    ids.push(...data.map(({ id }: { id: string }) => id))
    if (meta.pagination['next-page'] === null) return { ids, total: meta.pagination['total-count'] }
    expect(data).toHaveLength(size)
  }
}

function expected(query: RunQuery, sees?: ReadonlySet<string>) {
  const visible = inOrganization.filter((run) => !sees || sees.has(run.workspaceId))
  return expectedRuns(visible, query, app.clock.now())
}

test('the lists of an organization have the matching runs that the caller may read, newest first', async () => {
  for (const query of queries.filter((_, index) => index % 2 === 0)) {
    const { user, sees } = random.pick(viewers as [(typeof viewers)[0], ...typeof viewers])
    const { ids } = await listed(`organizations/${organization}`, { query, user, size: random.pick(SIZES) })

    expect({ query, ids }).toEqual({ query, ids: expected(query, sees) })
  }
})

test('the lists of a workspace have the matching runs and their total', async () => {
  for (const query of queries.filter((_, index) => index % 2 === 0)) {
    const found = await listed(`workspaces/${workspaceId}`, { query, user: owner, size: random.pick(SIZES) })

    const ids = expected(query, new Set([workspaceId]))
    expect({ query, ...found }).toEqual({ query, ids, total: ids.length })
  }
})

test.each([2, 25])('a search that scans %d runs with each plan finds all matching runs', async (depth) => {
  for (const query of queries) {
    const { user, sees } = random.pick(viewers as [(typeof viewers)[0], ...typeof viewers])
    const size = random.pick(SIZES)
    const filter = runFilter(parseQuery(query), app.clock.now())
    const ids: string[] = []
    for (let number = 1; ; number += 1) {
      const search = { organizationId, seesAll: user === owner, filter, page: { number, size } }
      const page = await findRunIds(app.db, user.actor, search, { depth, overlap: 12 })
      ids.push(...page.slice(0, size))
      if (page.length <= size) break
    }

    expect({ query, ids }).toEqual({ query, ids: expected(query, sees) })
  }
})

test.each([2, 25, 1000])('a search of a workspace that scans at most %d runs finds all or none', async (depth) => {
  let conclusive = 0
  for (const query of queries) {
    const filter = runFilter(parseQuery(query), app.clock.now())
    if (!filter) continue
    const page = { number: 1 + random.below(2), size: 7 }
    const found = await findFewRunIds(app.db, { organizationId, workspaceId, filter, page }, { depth, overlap: 12 })
    if (!found) continue
    conclusive += 1

    const ids = expected(query, new Set([workspaceId]))
    const shown = ids.slice((page.number - 1) * page.size).slice(0, page.size)
    expect({ query, ...found }).toEqual({ query, ids: shown, total: ids.length })
  }
  expect(conclusive).toBeGreaterThan(5)
})

test.each([3, 30, 1000])('each plan finds all matching runs, up to %d', async (limit) => {
  const taken = new Map<string, number>()
  for (const query of queries) {
    const filter = runFilter(parseQuery(query), app.clock.now())
    for (const plan of filter && !filter.commit ? searchPlans(organizationId, filter, 12) : []) {
      const found = await follow(plan, limit)
      const matching = expected(query)
      // A truncated result has the newest runs if the plan is in order.
      const isCut = found.size >= limit
      const last = isCut ? Math.min(...[...found].map(place)) : 0
      const promised = isCut && !plan.isInOrder ? [] : matching.filter((id) => place(id) >= last)
      const missing = promised.filter((id) => !found.has(id))
      const name = plan.covers.join(',')
      taken.set(name, (taken.get(name) ?? 0) + 1)

      const others = coversAll(plan, filter) ? [...found].filter((id) => !matching.includes(id)) : []

      expect({ name, query, missing, others }).toEqual({ name, query, missing: [], others: [] })
    }
  }
  expect(Math.min(...taken.values())).toBeGreaterThan(10)
  expect(taken.size).toBe(7)
})

const place = (id: string) => inOrganization.findIndex((run) => run.id === id)

async function follow(plan: SearchPlan, limit: number) {
  const { rows } = await sql<{ id: string }>`${plan.runs(limit)}`.execute(app.db)
  return new Set(rows.map(({ id }) => id))
}

function coversAll(plan: SearchPlan, filter: RunFilter | undefined) {
  const parts = Object.entries(filter ?? {}).filter(([, value]) => value !== undefined)
  return parts.every(([part]) => plan.covers.some((covered) => covered === part))
}
