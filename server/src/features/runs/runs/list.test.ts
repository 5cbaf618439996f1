import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { addWorkspace, createRun, createRunSetting } from '../../../testing/runs.ts'
import { countingStatements } from '../../../testing/statements.ts'

const counted = countingStatements()
const app = await createTestApp()

type Shown = { id: string; attributes: { permissions: Record<string, boolean> } }

async function list(user: TestUser, url: string): Promise<Shown[]> {
  const response = await app.request({ url: `/api/v2${url}`, token: user.token })
  expect(response.status).toBe(200)
  return response.json().data
}

test("a list of the organization shows a member their workspaces' runs, with their permissions", async () => {
  const user = await createUser(app)
  const organization = await createOrganization(app, user)
  const add = () => addWorkspace(app, { user, organization: organization.name })
  const [setting, readable, hidden] = [await add(), await add(), await add()]
  const member = await createUser(app)
  await createTeamWithAccess(app, {
    members: [member],
    organizationId: organization.id,
    workspaces: { [setting.workspaceId]: 'write', [readable.workspaceId]: 'read' },
  })
  const writable = await createRun(app, setting)
  const shown = await createRun(app, readable)
  const unseen = await createRun(app, hidden)

  const runs = await list(member, `/organizations/${organization.name}/runs`)
  const queue = await list(member, `/organizations/${organization.name}/runs/queue`)
  const everything = await list(user, `/organizations/${organization.name}/runs`)

  const permitted = (shown: Shown[]) => shown.map(({ id, attributes }) => [id, attributes.permissions['can-apply']])
  expect(permitted(runs)).toEqual([
    [shown, false],
    [writable, true],
  ])
  expect(permitted(queue)).toEqual([
    [writable, true],
    [shown, false],
  ])
  expect(permitted(everything)).toEqual([
    [unseen, true],
    [shown, true],
    [writable, true],
  ])
})

test('the second page of runs continues after the first', async () => {
  const setting = await createRunSetting(app)
  const created: string[] = []
  for (let number = 0; number < 3; number += 1) created.unshift(await createRun(app, setting))

  for (const url of [`/workspaces/${setting.workspaceId}/runs`, `/organizations/${setting.organization}/runs`]) {
    const first = await list(setting.user, `${url}?page%5Bsize%5D=2`)
    const second = await list(setting.user, `${url}?page%5Bsize%5D=2&page%5Bnumber%5D=2`)
    expect([...first, ...second].map(({ id }) => id)).toEqual(created)
  }
})

test('the runs of a workspace are listed by organization and workspace name, too', async () => {
  const setting = await createRunSetting(app)
  const run = await createRun(app, setting)
  const requestList = (query: string) => app.request({ url: `/api/v2/runs?${query}`, token: setting.user.token })
  const workspace = `workspace_id=${setting.workspaceId}`

  const runs = await list(setting.user, `/runs?${workspace}&organization_name=${setting.organization}`)
  const other = await requestList(`${workspace}&organization_name=another`)
  const incomplete = await requestList(workspace)

  expect(runs.map(({ id }) => id)).toEqual([run])
  expect(other.status).toBe(404)
  expect(incomplete.status).toBe(422)
  expect(incomplete.json().errors[0].source.parameter).toBe('organization_name')
})

test('a list includes the resources of all its rows, in a constant number of statements', async () => {
  const user = await createUser(app)
  const organization = await createOrganization(app, user)
  const add = () => addWorkspace(app, { user, organization: organization.name })
  const settings = [await add(), await add()]
  const member = await createUser(app)
  const workspaces = Object.fromEntries(settings.map(({ workspaceId }) => [workspaceId, 'read' as const]))
  await createTeamWithAccess(app, { members: [member], organizationId: organization.id, workspaces })
  const includes = ['plan', 'apply', 'configuration_version', 'created_by', 'workspace']
  const url = `/api/v2/organizations/${organization.name}/runs?include=${includes.join(',')}`
  const counts = async () => {
    const { statements, result } = await counted(async () => app.request({ url, token: member.token }))
    return { statements, types: Object.groupBy(result.json().included, ({ type }: { type: string }) => type) }
  }

  for (const setting of settings) await createRun(app, setting)
  await counts()
  const short = await counts()
  for (const setting of [...settings, ...settings]) await createRun(app, setting)
  const long = await counts()

  expect([short.types['plans']?.length, long.types['plans']?.length]).toEqual([2, 6])
  expect([long.types['applies']?.length, long.types['workspaces']?.length]).toEqual([6, 2])
  expect(long.statements).toBe(short.statements)
})

test('a filter of operations is one statement, whatever their order', async () => {
  const setting = await createRunSetting(app)
  const requestList = async (operations: string) =>
    list(setting.user, `/workspaces/${setting.workspaceId}/runs?filter[operation]=${operations}`)

  for (const operations of ['save_plan,plan_only', 'plan_only,save_plan', 'save_plan,plan_only,save_plan']) {
    await requestList(operations)
    await requestList(operations)
  }

  const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements`.execute(app.db)
  const forms = rows.flatMap(({ statement }) => /\(r\.(?:plan_only|save_plan) or [\w. ]+\)/.exec(statement) ?? [])
  expect([...new Set(forms)]).toEqual(['(r.plan_only or r.save_plan)'])
})
