import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { addWorkspace, createRun, createRunSetting } from '../../../testing/runs.ts'

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
const found = async (query: string, token = setting.user.token) => {
  const url = `/api/v2/organizations/${setting.organization}/runs?${query}`
  const answer = await app.request({ url, token })
  return answer.json().data.map((run: { id: string }) => run.id)
}

test.each([
  'search[basic]=NEEDLE in',
  'search[basic]=ne',
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

test('a run behind thousands of newer ones is not found by what it has not', async () => {
  expect(await found('search[basic]=needles')).toEqual([])
  expect(await found('filter[operation]=save_plan')).toEqual([])
  expect(await found('filter[status]=canceled')).toEqual([])
  expect(await found('search[user]=nobody')).toEqual([])
  expect(await found('filter[operation]=destroy&filter[status]=canceled')).toEqual([])
  expect(await found('filter[agent_pool_names]=nowhere')).toEqual([])
})

test('a run behind thousands of newer ones is found by its creator, with the other run of theirs, the newest first', async () => {
  expect(await found(`search[user]=${setting.user.username}`)).toEqual([rare, common])
  expect(await found('filter[status]=plan_queued')).toEqual([rare, common])
})

test('a run behind thousands of newer ones is listed to a member who sees its workspace only', async () => {
  expect(await found('', member.token)).toEqual([rare])
  expect(await found('filter[operation]=destroy', member.token)).toEqual([rare])
  expect(await found('search[basic]=hay', member.token)).toEqual([rare])
})
