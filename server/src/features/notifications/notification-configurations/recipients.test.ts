import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { freePort } from '../../../testing/ports.ts'
import { addMember, createTeam } from '../../../testing/teams.ts'

const port = await freePort()
const app = await createTestApp({
  GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
  GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
})
const mail = await startMailServer(port)
const owner = await createUser(app)
const organization = await createOrganization(app, owner)
const project = await createProject(app, { organization: organization.name, actor: owner.actor })
const workspace = await createWorkspace(app, { organization: organization.name, actor: owner.actor })

async function member() {
  const user = await createUser(app)
  await addMember(app, organization.id, user)
  return user
}

type Input = { users?: string[]; attributes?: object }

async function post(at: string, { users = [], attributes = {} }: Input = {}) {
  return app.request({
    method: 'POST',
    url: `/api/v2${at}/notification-configurations`,
    token: owner.token,
    body: {
      data: {
        type: 'notification-configurations',
        attributes: { name: 'mail', 'destination-type': 'email', ...attributes },
        relationships: { users: { data: users.map((id) => ({ id, type: 'users' })) } },
      },
    },
  })
}

const create = async (at: string, input: Input = {}) => (await post(at, input)).json().data
const get = async (url: string, token = owner.token) => (await app.request({ url: `/api/v2${url}`, token })).json().data
const verify = async (id: string) =>
  app.request({
    method: 'POST',
    url: `/api/v2/notification-configurations/${id}/actions/verify`,
    token: owner.token,
  })

test('a configuration says how many recipients it has, alone and in lists', async () => {
  const [one, other] = [await member(), await member()]
  const place = await createProject(app, { organization: organization.name, actor: owner.actor })
  const at = `/projects/${place.id}`

  const empty = await create(at)
  await createTeamWithAccess(app, {
    organizationId: organization.id,
    members: [one, other],
    projects: { [place.id]: 'read' },
  })
  const filled = await get(`/notification-configurations/${empty.id}`)
  const [listed] = await get(`${at}/notification-configurations`)
  const [seen] = await get(`${at}/notification-configurations`, one.token)

  expect(empty.attributes).toMatchObject({ 'recipient-count': 0 })
  expect(empty.attributes['recipient-problem']).toContain('no team with access to the project has members')
  const two = { 'recipient-count': 2, 'recipient-problem': null }
  expect([filled.attributes, listed.attributes]).toMatchObject([two, two])
  expect(seen.attributes).toMatchObject({ 'recipient-count': null, 'recipient-problem': null })
})

test('the reason why nobody gets an e-mail is given, also by a verification, which points to no attribute', async () => {
  const [outsider, unwilling] = [await member(), await member()]
  await createTeamWithAccess(app, {
    organizationId: organization.id,
    members: [unwilling],
    workspaces: { [workspace.id]: 'read' },
  })
  await app.request({
    method: 'PATCH',
    url: '/api/v2/account/notification-settings',
    token: unwilling.token,
    body: { data: { type: 'notification-settings', attributes: { 'configured-mails': false } } },
  })
  const team = await createTeam(app, organization.id)

  const unnamed = await create(`/workspaces/${workspace.id}`)
  const named = await create(`/workspaces/${workspace.id}`, { users: [outsider.id, unwilling.id] })
  const ofTeam = await create(`/teams/${team}`)
  const verified = await verify(named.id)

  const problems = [unnamed, named, ofTeam].map(({ attributes }) => attributes['recipient-problem'])
  expect(problems).toEqual([
    'nobody receives it: no recipient is named',
    'nobody receives it: of those who should, 1 without access to the workspace; 1 chose to receive no such e-mails',
    'nobody receives it: the team has no members',
  ])
  expect(verified.status).toBe(400)
  expect(verified.json().errors[0].detail).toBe(problems[1])
  expect(verified.json().errors[0].source?.pointer).toBeUndefined()
})

test('a verification that some recipients refuse says which', async () => {
  const [one, other] = [await member(), await member()]
  await createTeamWithAccess(app, {
    organizationId: organization.id,
    members: [one, other],
    projects: { [project.id]: 'read' },
  })
  const { id, attributes } = await create(`/projects/${project.id}`)
  mail.refuses.recipient = (address) => (address === other.email ? 550 : undefined)

  const refused = await verify(id)
  mail.refuses = {}
  const accepted = await verify(id)

  expect(attributes['recipient-count']).toBe(2)
  expect(refused.json().data.attributes).toMatchObject({
    'refused-recipients': [other.email],
    'delivery-responses': [],
  })
  expect(accepted.json().data.attributes['refused-recipients']).toEqual([])
})

test('spellings of an address are one', async () => {
  const { id } = await createAddressed(owner.email ?? '')

  const { attributes } = await get(`/notification-configurations/${id}`)

  expect(attributes).toMatchObject({ 'email-addresses': [owner.email], 'recipient-count': 1 })
})

async function createAddressed(address: string) {
  const addresses = [address, address.toUpperCase(), address]
  return create(`/workspaces/${workspace.id}`, { attributes: { 'email-addresses': addresses } })
}

test.each([
  ['a line break', 'a\nb'],
  ['a tab', 'a\tb'],
  ['an escape', 'a\u001Bb'],
  ['a line separator', 'a\u2028b'],
])('a name with %s is refused', async (_, name) => {
  const response = await post(`/workspaces/${workspace.id}`, { attributes: { name } })

  expect(response.status).toBe(422)
  expect(response.json().errors[0].source.pointer).toBe('/data/attributes/name')
})
