import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { addWorkspace, createRun, createRunSetting } from '../../../testing/runs.ts'
import { insertRunKeys } from './testing/run-keys.ts'

const app = await createTestApp()

const setting = await createRunSetting(app)
const other = await addWorkspace(app, setting)
const common = await createRun(app, other)
const rare = await createRun(app, setting, { message: 'a needle in the hay', 'is-destroy': true })
const member = await createUser(app)
const organization = await app.db
  .selectFrom('organizations')
  .select('id')
  .where('name', '=', setting.organization)
  .executeTakeFirstOrThrow()
await createTeamWithAccess(app, {
  members: [member],
  organizationId: organization.id,
  workspaces: { [setting.workspaceId]: 'read' },
})
await sql`insert into runs select (jsonb_populate_record(r, jsonb_build_object('id', 'run-hay' || n, 'number', n + 1,
    'seq', nextval('run_order'), 'status', 'applied', 'occupies', false, 'waits', false, 'message', 'hay', 'created_by_user_id', null,
    'updated_at', r.updated_at - interval '1 day', 'created_at', r.created_at + interval '366 days'))).*
  from runs r, generate_series(1, 2100) n where r.id = ${common}`.execute(app.db)
await insertRunKeys(app)
await sql`insert into phases select (jsonb_populate_record(p, jsonb_build_object('id', p.kind || '-hay' || n, 'run_id', 'run-hay' || n))).*
  from phases p, generate_series(1, 2100) n where p.run_id = ${common}`.execute(app.db)
const found = async (query: string, token = setting.user.token) => {
  const url = `/api/v2/organizations/${setting.organization}/runs?${query}`
  const response = await app.request({ url, token })
  return response.json().data.map((run: { id: string }) => run.id)
}

const foundInWorkspace = async (query: string) => {
  const url = `/api/v2/workspaces/${other.workspaceId}/runs?page[size]=2&${query}`
  const { data, meta } = (await app.request({ url, token: setting.user.token })).json()
  return { ids: data.map((run: { id: string }) => run.id), total: meta.pagination['total-count'] }
}

test.each([
  'search[basic]=NEEDLE in',
  'search[basic]=NE',
  'search[basic]=n',
  'search[basic]=n&filter[operation]=destroy',
  'filter[operation]=destroy&filter[timeframe]=year',
  `search[user]=${setting.user.username}&filter[operation]=destroy&filter[status]=plan_queued`,
  `search[user]=${setting.user.username}&search[basic]=needle`,
  'filter[operation]=destroy',
  'filter[operation]=destroy,save_plan&filter[source]=tfe-api',
  'filter[operation]=destroy&filter[status]=plan_queued,errored',
  'filter[workspace_names]=NAME&filter[status_group]=waiting',
  'filter[workspace_names]=NAME',
  `filter[since]=${new Date(app.clock.now().getTime() - 3_600_000).toISOString()}&filter[operation]=destroy`,
  `filter[timeframe]=${app.clock.now().getUTCFullYear()}&filter[operation]=destroy`,
])('a run behind thousands of newer ones is found by %s', async (query) => {
  expect(await found(query.replace('NAME', setting.workspaceName.toUpperCase()))).toEqual([rare])
})

test('a run behind thousands of newer ones is not found by attributes that it lacks', async () => {
  expect(await found('search[basic]=needles')).toEqual([])
  expect(await found('filter[operation]=save_plan')).toEqual([])
  expect(await found('filter[status]=canceled')).toEqual([])
  expect(await found('search[user]=nobody')).toEqual([])
  expect(await found('filter[operation]=destroy&filter[status]=canceled')).toEqual([])
  expect(await found('filter[agent_pool_names]=nowhere')).toEqual([])
})

test('a run behind thousands of newer ones is found by its creator, newest first', async () => {
  expect(await found(`search[user]=${setting.user.username}`)).toEqual([rare, common])
  expect(await found('filter[status]=plan_queued')).toEqual([rare, common])
})

test('a run behind thousands of newer ones is listed for a member who sees only its workspace', async () => {
  expect(await found('', member.token)).toEqual([rare])
  expect(await found('filter[operation]=destroy', member.token)).toEqual([rare])
  expect(await found('search[basic]=hay', member.token)).toEqual([rare])
})

test('a text of one or two characters matches the start of a word', async () => {
  expect(await found('search[basic]=ee')).toEqual([])
  expect(await found('search[basic]=%25')).toEqual([])
})

test('the total of a large workspace is exact, whether few or many runs match', async () => {
  const hay = (number: number) => `run-hay${number}`

  expect(await foundInWorkspace('filter[status]=plan_queued')).toEqual({ ids: [common], total: 1 })
  expect(await foundInWorkspace('filter[status]=applied')).toEqual({ ids: [hay(2100), hay(2099)], total: 2100 })
  expect(await foundInWorkspace('filter[status]=applied&page[number]=1050')).toEqual({
    ids: [hay(2), hay(1)],
    total: 2100,
  })
  expect(await foundInWorkspace('search[basic]=hay')).toEqual({ ids: [hay(2100), hay(2099)], total: 2100 })
  expect(await foundInWorkspace(`search[basic]=${hay(7)}`)).toEqual({ ids: [hay(7)], total: 1 })
  expect(await foundInWorkspace('search[basic]=needle')).toEqual({ ids: [], total: 0 })
  expect(await foundInWorkspace('filter[operation]=destroy')).toEqual({ ids: [], total: 0 })
  expect(await foundInWorkspace(`search[user]=${setting.user.username}&page[number]=2`)).toEqual({ ids: [], total: 1 })
  expect(await foundInWorkspace(`filter[workspace_names]=${setting.workspaceName}&filter[status]=plan_queued`)).toEqual(
    {
      ids: [],
      total: 0,
    },
  )
})
