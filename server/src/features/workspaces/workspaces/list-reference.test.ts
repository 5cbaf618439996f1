import { expect, test } from 'vitest'
import { queryParser, sortBy } from '../../../http/query.ts'
import { createTestApp } from '../../../testing/app.ts'
import type { TestUser } from '../../../testing/factories.ts'
import { createRandom } from '../../../testing/random.ts'
import { WORKSPACE_FILTER_QUERY, workspaceFilter } from './filter-store.ts'
import { SORTS, countMatches, findGrants, listWorkspaceRows } from './list-store.ts'
import { type WorkspaceQuery, expectedWorkspaces } from './testing/expected-workspaces.ts'
import { GROUPS, createManyWorkspaces } from './testing/many-workspaces.ts'

const app = await createTestApp()
const random = createRandom(20_261)
const { owner, organization, workspaces, viewers } = await createManyWorkspaces(app, random)
const [first] = workspaces

const VALUES: Record<string, readonly [string, ...string[]]> = {
  'search[name]': ['a', '-1', 'WEB', 'b_p', 'odd', '%', 'nothing'],
  'search[wildcard-name]': ['*-*', 'api*', '*1*2*', '*7', 'x_*', '*D-QUAY-*'],
  'search[tags]': ['env', 'team', 'env,tier', 'Retired', 'owner', 'nothing'],
  'search[exclude-tags]': ['Retired', 'env,team', 'owner', 'nothing'],
  'filter[tagged][0][key]': ['env', 'team', 'Retired', 'owner', 'nothing'],
  'filter[tagged][0][value]': ['prod', '', 'test', 'Gold'],
  'filter[tagged][1][key]': ['tier', 'team'],
  'filter[tagged][1][value]': ['', 'prod'],
  'filter[tag-value-default-null]': ['false', 'true'],
  'filter[tag-union]': ['true', 'false'],
  'filter[project][id]': [...new Set(workspaces.map(({ projectId }) => projectId)), 'prj-nothing'] as [string],
  'filter[current-run][status]': [
    'applied',
    'errored',
    'planned,planning',
    'pending',
    'planned_and_finished',
    'policy_checked',
  ],
  'filter[run-group]': ['finished', 'errored,stopped', 'none', 'waiting,none', ...GROUPS],
  'filter[engine-version]': ['latest', '1.5.0', '~> 1.5', 'nothing'],
  'filter[locked]': ['false', 'true'],
  'filter[drifted]': ['false', 'true'],
  sort: ['name', '-name', 'latest-change-at', '-latest-change-at', 'current-run.created-at', '-current-run.created-at'],
}

/** Each value alone, and random combinations. */
function someQueries(): WorkspaceQuery[] {
  const alone = Object.entries(VALUES).flatMap(([name, values]) => values.map((value) => ({ [name]: value })))
  const together = Array.from({ length: 150 }, () =>
    Object.fromEntries(
      Object.entries(VALUES)
        .filter(() => random.oneIn(5))
        .map(([name, values]) => [name, random.pickSkewed(values)]),
    ),
  )
  return [...alone, ...together]
}

const queries = someQueries()
const parseQuery = queryParser({ ...WORKSPACE_FILTER_QUERY, sort: sortBy(SORTS, 'name') })

/** The ids on all pages of the list, and their totals. */
async function listed(query: WorkspaceQuery, { user, size }: { user: TestUser; size: number }) {
  const ids: string[] = []
  const totals = new Set<number>()
  for (let number = 1; ; number += 1) {
    const parameters = new URLSearchParams({ ...query, 'page[size]': `${size}`, 'page[number]': `${number}` })
    const url = `/api/v2/organizations/${organization.name}/workspaces?${parameters.toString()}`
    const { data, meta } = (await app.request({ url, token: user.token })).json()
    ids.push(...data.map(({ id }: { id: string }) => id))
    totals.add(meta.pagination['total-count'])
    if (data.length < size) return { ids, totals: [...totals] }
  }
}

test('each caller gets the matching visible workspaces, in order, with their total', async () => {
  const callers = [{ user: owner, sees: new Set(workspaces.map(({ id }) => id)) }, ...viewers]
  for (const [index, query] of queries.entries()) {
    const { user, sees } = callers[index % 3 === 0 ? 1 + random.below(viewers.length) : 0] ?? { user: owner }
    const found = await listed(query, { user, size: random.pick([4, 30, 100]) })

    const visible = workspaces.filter(({ id }) => sees?.has(id))
    const ids = expectedWorkspaces(visible, query)
    expect({ query, ...found }).toEqual({ query, ids, totals: [ids.length] })
  }
}, 60_000)

test('a filter with a thousand tags is fast', async () => {
  // As many tags as a list may have, and one tag many times.
  const keys = Array.from({ length: 999 }, (_, index) => index.toString(36))
  const query = Object.fromEntries(
    [...keys.slice(0, 99).keys()].map((index) => [`filter[tagged][${index}][key]`, 'env']),
  )
  const before = performance.now()

  const none = await listed({ 'search[tags]': ['env', ...keys].join(',') }, { user: owner, size: 100 })
  const some = await listed(query, { user: owner, size: 100 })

  expect(performance.now() - before).toBeLessThan(2000)
  expect(none.ids).toEqual([])
  expect(some.ids).toEqual(expectedWorkspaces(workspaces, { 'search[tags]': 'env' }))
  expect(some.ids).not.toEqual([])
})

test.each(['scan', 'collect', 'match'] as const)(
  'the strategy %s finds the workspaces that members see',
  async (strategy) => {
    for (const query of queries) {
      const { user, sees } = random.pick(viewers as [(typeof viewers)[0], ...typeof viewers])
      const grants = await findGrants(app.db, user.actor, organization.id)
      const parsed = parseQuery(query)
      const filter = workspaceFilter(parsed)
      const reach = { ...grants, strategy }
      const window = {
        sort: parsed.sort,
        limit: 100,
        offset: 0,
        counts: random.oneIn(2),
        grants: true,
      }
      const isFiltered = Object.values(filter).some((value) => value !== undefined)
      const list = { organizationId: organization.id, reach, filter }
      const rows = await listWorkspaceRows(app.db, user.actor, list, { ...window, counts: isFiltered || window.counts })
      const total = await countMatches(app.db, user.actor, list)

      const visible = workspaces.filter(({ id }) => sees.has(id))
      const ids = expectedWorkspaces(visible, query)
      expect({ query, ids: rows.map(({ id }) => id), total }).toEqual({ query, ids, total: ids.length })
    }
  },
)

test('filters use the updated values of a workspace', async () => {
  const url = `/api/v2/workspaces/${first?.id}`
  const attributes = { name: 'renamed', 'engine-version': '1.9.9' }
  const project = workspaces.find(({ projectId }) => projectId !== first?.projectId)?.projectId
  const relationships = { project: { data: { type: 'projects', id: project } } }
  const body = { data: { type: 'workspaces', attributes, relationships } }

  const response = await app.request({ method: 'PATCH', url, token: owner.token, body })
  await app.request({ method: 'POST', url: `${url}/actions/lock`, token: owner.token })

  expect(response.status).toBe(200)
  const query = {
    'filter[locked]': 'true',
    'search[name]': 'renam',
    'filter[engine-version]': '1.9.9',
    'filter[project][id]': project ?? '',
  }
  expect(await listed(query, { user: owner, size: 4 })).toEqual({ ids: [first?.id], totals: [1] })
})
