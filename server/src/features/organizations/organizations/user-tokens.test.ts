import { beforeEach, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createBrowser } from '../../../testing/browser.ts'
import { type TestUser, createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember, createTeam, createTeamToken } from '../../../testing/teams.ts'
import { createOrganizationToken } from '../authentication-tokens/service.ts'

const app = await createTestApp()
let owner: TestUser
let member: TestUser
let organization: { id: string; name: string }
let workspace: { id: string }
beforeEach(async () => {
  ;[owner, member] = [await createUser(app), await createUser(app)]
  organization = await createOrganization(app, owner)
  await addMember(app, organization.id, member)
  workspace = await createWorkspace(app, { organization: organization.name, name: 'app' })
})

const path = () => `/api/v2/organizations/${organization.name}`
const change = (isEnabled: boolean) => ({
  method: 'PATCH' as const,
  url: path(),
  body: { data: { type: 'organizations', attributes: { 'user-tokens-enabled': isEnabled } } },
})
const switchOff = async () => app.request({ ...change(false), token: owner.token })
const get = async (url: string, token: string) => app.request({ url: `/api/v2${url}`, token })

test('a new organization accepts user tokens', async () => {
  expect((await get(`/organizations/${organization.name}`, owner.token)).json().data.attributes).toMatchObject({
    'user-tokens-enabled': true,
  })
})

test('the owner who disables them gets the response, and then has no access with the token', async () => {
  const off = await switchOff()

  const after = await get(`/organizations/${organization.name}`, owner.token)
  expect([off.status, off.json().data.attributes['user-tokens-enabled']]).toEqual([200, false])
  // Clients match this word for a 401.
  expect([after.status, after.json().errors[0].title]).toEqual([401, 'unauthorized'])
  expect(after.json().errors[0].detail).toContain('use the token of a team')
})

test('an organization can be created without them', async () => {
  const body = {
    data: { type: 'organizations', attributes: { name: 'closed', email: 'a@b.test', 'user-tokens-enabled': false } },
  }
  const created = await app.request({ method: 'POST', url: '/api/v2/organizations', token: owner.token, body })

  expect([created.status, created.json().data.attributes['user-tokens-enabled']]).toEqual([201, false])
  expect((await get('/organizations/closed', owner.token)).status).toBe(401)
})

test.each(['owner', 'member'])('the token of the %s has no access by name, by id and in lists', async (who) => {
  const { token, id } = who === 'owner' ? owner : member
  const colleague = who === 'owner' ? member : owner
  const elsewhere = await createOrganization(app, who === 'owner' ? owner : member)
  await switchOff()

  const statuses = async (urls: readonly string[]) =>
    Promise.all(urls.map(async (url) => (await get(url, token)).status))
  const organizations = (await get('/organizations', token)).json()
  const memberships = (await get('/organization-memberships?include=organization', token)).json()

  expect(
    await statuses([
      `/organizations/${organization.name}/entitlement-set`,
      `/organizations/${organization.name}/workspaces`,
      `/organizations/${organization.name}/organization-memberships`,
    ]),
  ).toEqual([401, 401, 401])
  expect(
    await statuses([
      `/workspaces/${workspace.id}`,
      `/organizations/${organization.name}/workspaces/app`,
      `/workspaces/${workspace.id}/runs`,
      `/users/${colleague.id}`,
    ]),
  ).toEqual([404, 404, 404, 404])
  expect(organizations.data.map((row: any) => row.id)).toEqual([elsewhere.name])
  expect([organizations.meta.pagination['total-count'], memberships.meta.pagination['total-count']]).toEqual([1, 1])
  expect(JSON.stringify(memberships)).not.toContain(organization.name)
  // Accounts belong to no organization.
  expect(await statuses(['/account/details', `/users/${id}`])).toEqual([200, 200])
})

test('for an outsider it does not exist in either case', async () => {
  const stranger = await createUser(app)
  await switchOff()

  expect((await get(`/organizations/${organization.name}`, stranger.token)).status).toBe(404)
})

test('sessions, team tokens and organization tokens still have access', async () => {
  const team = await createTeam(app, organization.id, { members: [member] })
  const teamToken = await createTeamToken(app, team)
  const { text } = await createOrganizationToken(app.as(owner.actor), organization.name, { kind: 'organization' })
  await switchOff()

  const browser = await createBrowser(app, member.id)
  const seen = await browser.request({ url: path() })

  expect(seen.json().data.attributes['user-tokens-enabled']).toBe(false)
  expect((await get(`/organizations/${organization.name}`, teamToken)).status).toBe(200)
  expect((await get(`/workspaces/${workspace.id}`, text)).status).toBe(200)
})

test.each(['in a browser', "with the owners team's token"])('an owner %s can enable them again', async (how) => {
  const owners = await app.db
    .selectFrom('teams')
    .select('id')
    .where('organization_id', '=', organization.id)
    .where('is_owners', '=', true)
    .executeTakeFirstOrThrow()
  const token = await createTeamToken(app, owners.id)
  await switchOff()

  const on =
    how === 'in a browser'
      ? await (await createBrowser(app, owner.id)).request(change(true))
      : await app.request({ ...change(true), token })

  expect([on.status, on.json().data.attributes['user-tokens-enabled']]).toEqual([200, true])
  expect((await get(`/workspaces/${workspace.id}`, owner.token)).status).toBe(200)
})
