import { afterAll, describe, expect, test } from 'vitest'
import { connectDatabase } from '../server/src/db/connect.ts'
import { findPostgres } from '../server/src/postgres/postgres.ts'
import { startReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser } from './browser.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, until } from './run-progress.ts'
import { accessFaults, bootWebServer, DESK, openAdminPage, overflowOf, PHONE, watchFaults } from './web-page.ts'

/** The time in which a list opens, whatever its size, on a busy machine. */
const MAX_OPEN_MS = 10_000

type List = {
  path: string
  /** Tables whose row `id` is copied; the values of a copy are SQL in which `n` is its number. */
  copies: readonly { table: string; id: string; key?: string; values: Record<string, string> }[]
  /** Its filters or pager, if it has no search field with the number of items. */
  pager?: RegExp
}

describe.skipIf(!hasBrowser)('lists of none, one, 20 and 10,000 items', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer()
  const page = await openAdminPage(server, '/app/main/workspaces')
  const faults = watchFaults(page)
  await using setup = new AsyncDisposableStack()
  const database = setup.use(await findPostgres(server.dataDir))
  const client = await connectDatabase(database.url, 'e2e')
  const release = setup.move()
  afterAll(async () => {
    await client.end()
    await release.disposeAsync()
  })

  const create = async (path: string, type: string, attributes: object, relationships = {}) =>
    (await server.api('POST', path, { data: { type, attributes, relationships } })).data.id as string
  const ORGANIZATION = '/organizations/main'
  const named = (prefix: string) => ({ id: `'${prefix}-bulk' || n`, name: `'bulk-' || n` })

  async function copy({ table, id, key = 'id', values }: List['copies'][number], from: number, to: number) {
    const { rows } = await client.query<{ column_name: string }>(
      `select column_name from information_schema.columns
        where table_name = $1 and table_schema = 'public' and is_generated = 'NEVER' and is_identity = 'NO'`,
      [table],
    )
    const columns = rows.map(({ column_name: name }) => ({ name, value: values[name] ?? `original.${name}` }))
    await client.query(
      `insert into ${table} (${columns.map(({ name }) => name).join(', ')})
       select ${columns.map(({ value }) => value).join(', ')}
         from ${table} original, generate_series($2::int, $3::int) n where original.${key} = $1`,
      [id, from, to],
    )
  }

  /** Violations and overflow of the list, and whether it opens in time, with a search field if it has many items. */
  async function faultsOf({ path, pager }: List, size: number) {
    const opened = performance.now()
    await page.goto(`${server.url}/app/${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.locator('main#content .animate-pulse').first().waitFor({ state: 'detached' })
    const searches = await page.getByRole('main').getByRole('searchbox').count()
    const range = page.getByText(pager ?? /of 10,\d{3}/).first()
    const hasPager =
      size < 1000 ||
      (await range.waitFor().then(
        () => true,
        () => false,
      ))
    const ms = performance.now() - opened
    const found = await accessFaults(page)
    const wide = await overflowOf(page)
    await page.setViewportSize(PHONE)
    const narrow = await overflowOf(page)
    await page.setViewportSize(DESK)
    if (size > 1 && pager === undefined && searches === 0) found.push('has no search field')
    if (!hasPager) found.push('does not show the number of its items')
    if (wide > 0 || narrow > 0) found.push(`wider than its window by ${wide} and ${narrow} px`)
    if (ms > MAX_OPEN_MS) found.push(`opened after ${Math.round(ms)} ms`)
    return found.map((fault) => `${path} with ${size}: ${fault}`)
  }

  const EMPTY = [
    'main/runs',
    'main/projects',
    'main/variable-sets',
    'main/run-tasks',
    'main/run-triggers',
    'main/agents',
    'main/members',
    'main/teams',
    'main/settings/tags',
    'main/workspaces',
    'main/audit-trail',
    'main/policies',
    'main/policies?tab=policies',
    'main/registry',
    'main/registry?tab=providers',
    'main/settings/gpg-keys',
    'admin/users',
  ]

  test('of a new organization', async () => {
    const found: string[] = []
    for (const path of EMPTY) found.push(...(await faultsOf({ path, copies: [] }, 0)))

    expect(found).toEqual([])
  })

  /** One of everything, with what makes copies of it. */
  async function oneOfEach(): Promise<List[]> {
    const project = await create(`${ORGANIZATION}/projects`, 'projects', { name: 'original' })
    const workspace = await remoteWorkspace(server, { name: 'original', configuration: '' })
    const second = await create(`${ORGANIZATION}/workspaces`, 'workspaces', { name: 'second' })
    const set = await create(`${ORGANIZATION}/varsets`, 'varsets', { name: 'original', global: false })
    const { url } = await startReceiver()
    const task = await create(`${ORGANIZATION}/tasks`, 'tasks', { name: 'original', url, category: 'task' })
    const pool = await create(`${ORGANIZATION}/agent-pools`, 'agent-pools', { name: 'original' })
    const policySet = await create(`${ORGANIZATION}/policy-sets`, 'policy-sets', { name: 'original' })
    const policy = await create(`${ORGANIZATION}/policies`, 'policies', {
      name: 'original',
      query: 'data.original.deny',
    })
    const module = await create(`${ORGANIZATION}/registry-modules`, 'registry-modules', {
      name: 'original',
      provider: 'aws',
    })
    const provider = await create(`${ORGANIZATION}/registry-providers`, 'registry-providers', {
      name: 'original',
      namespace: 'main',
      'registry-name': 'private',
    })
    const team = await create(`${ORGANIZATION}/teams`, 'teams', { name: 'original' })
    await server.api('PATCH', `/workspaces/${second}/tag-bindings`, {
      data: [{ type: 'tag-bindings', attributes: { key: 'original', value: '' } }],
    })
    const trigger = await create(
      `/workspaces/${workspace.id}/run-triggers`,
      'run-triggers',
      {},
      {
        sourceable: { data: { type: 'workspaces', id: second } },
      },
    )
    const run = await startRun(server, workspace, { 'plan-only': true })
    await until(async () =>
      ['errored', 'planned_and_finished'].includes((await readRun(server, run)).attributes.status),
    )
    const idOf = async (text: string) => (await client.query<{ id: string }>(text)).rows[0]?.id ?? ''
    const user = await idOf(`select id from users where username = 'admin'`)
    const membership = await idOf('select id from organization_memberships')
    const binding = await idOf('select id from tag_bindings')
    const event = await idOf('select id from audit_events where organization_id is not null limit 1')
    return [
      {
        path: 'main/workspaces',
        copies: [{ table: 'workspaces', id: second, values: named('ws') }],
      },
      {
        path: 'main/runs',
        // Lists of an organization's runs have no totals.
        pager: /^Page 1$/,
        copies: [
          {
            table: 'runs',
            id: run,
            values: { id: `'run-bulk' || n`, number: '1000 + n', seq: `nextval('run_order')` },
          },
          {
            table: 'phases',
            id: run,
            key: 'run_id',
            values: { id: `original.kind || '-bulk' || n`, run_id: `'run-bulk' || n` },
          },
          {
            table: 'run_keys',
            id: run,
            key: 'run_id',
            values: { run_id: `'run-bulk' || n`, seq: `(select seq from runs where id = 'run-bulk' || n)` },
          },
        ],
      },
      { path: 'main/projects', copies: [{ table: 'projects', id: project, values: named('prj') }] },
      {
        path: 'main/variable-sets',
        copies: [{ table: 'variable_sets', id: set, values: named('varset') }],
      },
      { path: 'main/run-tasks', copies: [{ table: 'tasks', id: task, values: named('task') }] },
      {
        path: 'main/run-triggers?view=list',
        // Each workspace triggers ten others.
        copies: [
          {
            table: 'run_triggers',
            id: trigger,
            values: {
              id: `'rt-bulk' || n`,
              workspace_id: `'ws-bulk' || n`,
              source_id: `case when n < 10 then original.workspace_id else 'ws-bulk' || n / 10 end`,
            },
          },
        ],
      },
      { path: 'main/agents', copies: [{ table: 'agent_pools', id: pool, values: named('apool') }] },
      {
        path: 'admin/users',
        copies: [
          {
            table: 'users',
            id: user,
            values: { id: `'user-bulk' || n`, username: `'bulk-' || n`, email: `'bulk-' || n || '@example.com'` },
          },
        ],
      },
      {
        path: 'main/members',
        copies: [
          {
            table: 'organization_memberships',
            id: membership,
            values: { id: `'ou-bulk' || n`, user_id: `'user-bulk' || n`, email: `'bulk-' || n || '@example.com'` },
          },
        ],
      },
      {
        path: 'main/policies',
        copies: [{ table: 'policy_sets', id: policySet, values: named('polset') }],
      },
      {
        path: 'main/policies?tab=policies',
        copies: [{ table: 'policies', id: policy, values: named('pol') }],
      },
      {
        path: 'main/registry',
        copies: [{ table: 'registry_modules', id: module, values: named('mod') }],
      },
      {
        path: 'main/registry?tab=providers',
        copies: [{ table: 'registry_providers', id: provider, values: named('prov') }],
      },
      { path: 'main/teams', copies: [{ table: 'teams', id: team, values: named('team') }] },
      {
        path: 'main/settings/tags',
        copies: [{ table: 'tag_bindings', id: binding, values: { id: `'tb-bulk' || n`, key: `'bulk-' || n` } }],
      },
      {
        path: 'main/audit-trail',
        copies: [{ table: 'audit_events', id: event, values: { id: `'ae-bulk' || n` } }],
      },
    ]
  }
  let lists: List[]

  test.for([
    [1, 1, 0],
    [20, 1, 19],
    [10_000, 20, 9_999],
  ] as const)('of %i', async ([size, from, to]) => {
    lists ??= await oneOfEach()
    for (const { copies } of lists) for (const one of copies) await copy(one, from, to)
    await client.query('analyze')

    const found: string[] = []
    for (const list of lists) found.push(...(await faultsOf(list, size)))

    expect(found).toEqual([])
    expect(faults).toEqual([])
  })
})
