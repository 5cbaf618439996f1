import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'

let app: TestApp
let owner: TestUser
let inside: string
beforeAll(async () => {
  app = await createTestApp()
  owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  inside = `/api/v2/organizations/${organization.name}`
})

const send = async (method: 'POST' | 'PATCH', url: string, type: string, attributes: object) =>
  (await app.request({ method, url, token: owner.token, body: { data: { type, attributes } } })).json().data
const createTeam = async (name: string) => send('POST', `${inside}/teams`, 'teams', { name })
const get = async (path: string, token = owner.token) => app.request({ url: `${inside}/${path}`, token })
const trail = async (query: string) => (await get(`audit-trail?${query}`)).json()
const names = async (query: string) => (await trail(query)).data.map((event: any) => event.resource.meta.name)

test('filters select by actor, resource, action, time and text', async () => {
  const first = await createTeam('filtered-1')
  const between = app.clock.now().toISOString()
  app.clock.advance(60_000)
  const workspace = await createWorkspace(app, { organization: inside.split('/').at(-1)! })
  await send('PATCH', `/api/v2/teams/${first.id}`, 'teams', { name: 'renamed' })

  expect(await names(`filter[resource][id]=${first.id}`)).toEqual(['filtered-1', 'filtered-1'])
  expect(await names(`filter[resource][id]=${first.id}&filter[action]=update`)).toEqual(['filtered-1'])
  expect(await names('filter[resource][type]=workspace')).toEqual([workspace.name])
  expect(await names(`until=${between}&since=2000-01-01&filter[resource][type]=team`)).toEqual(['filtered-1'])
  expect(await names(`since=${between}&q=RENAMED`)).toEqual(['filtered-1'])
  expect((await trail(`filter[actor][id]=${owner.id}&page[size]=1`)).pagination).toMatchObject({ next_page: 2 })
  expect((await trail('filter[actor][id]=user-other')).pagination.total_count).toBe(0)
})

test('an update records its settings before and after', async () => {
  const workspace = await createWorkspace(app, { organization: inside.split('/').at(-1)! })
  const url = `/api/v2/workspaces/${workspace.id}`
  const variable = await send('POST', `${url}/vars`, 'vars', { key: 'token', category: 'env', value: 'a-secret' })

  await send('PATCH', url, 'workspaces', { description: 'Network', 'auto-apply': true, name: workspace.name })
  await send('PATCH', `${url}/vars/${variable.id}`, 'vars', { value: 'other-secret', description: 'of the cloud' })

  const [ofWorkspace] = (await trail(`filter[resource][id]=${workspace.id}&filter[action]=update`)).data
  expect(ofWorkspace.resource.meta).toMatchObject({
    before: { description: null, 'auto-apply': false },
    after: { description: 'Network', 'auto-apply': true },
  })
  expect(ofWorkspace.resource.meta.after).not.toHaveProperty('name')
  const [ofVariable] = (await trail(`filter[resource][id]=${variable.id}&filter[action]=update`)).data
  expect(ofVariable.resource.meta).toMatchObject({
    before: { description: '', value: '(changed)' },
    after: { description: 'of the cloud', value: '(changed)' },
  })
  expect(JSON.stringify(await trail(''))).not.toMatch(/a-secret|other-secret/)
})

test('exports are JSON Lines and CSV of the filtered trail, without formulas', async () => {
  const team = await createTeam('=HYPERLINK("http://a")')
  app.clock.advance(1000)
  const since = `filter[resource][id]=${team.id}`

  const jsonl = await get(`audit-trail.jsonl?${since}`)
  const csv = await get(`audit-trail.csv?${since}`)

  expect(jsonl.headers['content-disposition']).toMatch(/^attachment; filename="audit-trail-[\w-]+\.jsonl"$/)
  expect(jsonl.headers['content-type']).toContain('application/jsonl')
  const lines = jsonl.text.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line))).toEqual((await trail(since)).data)
  const [head, row, end] = csv.text.split('\r\n')
  expect(head).toMatch(/^timestamp,actor_id,actor,action,resource_type,resource_id,details,/)
  expect(row).toContain(`,${owner.username},create,team,${team.id},"{""name"":`)
  expect(end).toBe('')
})

test('a cell that a spreadsheet would evaluate is text', async () => {
  await app.request({
    method: 'POST',
    url: `${inside}/teams`,
    token: owner.token,
    headers: { 'user-agent': '=cmd|calc' },
    body: { data: { type: 'teams', attributes: { name: 'formula' } } },
  })

  const csv = await get('audit-trail.csv?q=cmd|calc')
  const all = await get('audit-trail.csv?filter[resource][type]=team')

  expect(csv.text.split('\r\n')).toHaveLength(2)
  expect(all.text).toContain(`,'=cmd|calc,`)
})

test('an export has all events of several batches, once each', async () => {
  await sql`insert into audit_events (id, organization_id, actor_type, actor_name, action, resource_type, resource_id, created_at)
    select 'bulk-' || n, o.id, 'user', 'ada', 'create', 'bulk', 'bulk-' || n, ${app.clock.now()}::timestamptz - (n / 3) * interval '1 s'
      from generate_series(1, 5000) n, organizations o where o.name = ${inside.split('/').at(-1)}`.execute(app.db)

  const { text } = await get('audit-trail.jsonl?filter[resource][type]=bulk')

  const ids = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id)
  expect(new Set(ids).size).toBe(5000)
  expect(ids).toHaveLength(5000)
})

test('only those who read the trail export it', async () => {
  const [other, admin] = [await createUser(app), await createUser(app, { isSiteAdmin: true })]
  const site = async (token: string) => (await app.request({ url: '/api/v2/admin/audit-trail.csv', token })).status

  expect((await get('audit-trail.csv', other.token)).status).toBe(404)
  expect([await site(owner.token), await site(admin.token)]).toEqual([404, 200])
})
