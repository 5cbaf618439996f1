import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember, createTeam, createTeamToken } from '../../../testing/teams.ts'

const app = await createTestApp()
const owner = await createUser(app)
const organization = await createOrganization(app, owner)
const URL_PATH = '/api/v2/account/notification-settings'

const read = async (token: string) => (await app.request({ url: URL_PATH, token })).json().data
const patch = async (token: string, attributes: object) =>
  app.request({
    method: 'PATCH',
    url: URL_PATH,
    token,
    body: { data: { type: 'notification-settings', attributes } },
  })

test('a user gets no e-mails about own runs by default, and those of configurations', async () => {
  expect(await read(owner.token)).toMatchObject({
    id: owner.id,
    type: 'notification-settings',
    attributes: {
      'own-run-triggers': [],
      'configured-mails': true,
      'has-mail-server': false,
      configurations: [],
    },
  })
})

test('each setting changes on its own', async () => {
  const user = await createUser(app)

  const first = await patch(user.token, { 'own-run-triggers': ['run:errored', 'run:errored'] })
  const second = await patch(user.token, { 'configured-mails': false })

  expect(first.json().data.attributes).toMatchObject({ 'own-run-triggers': ['run:errored'], 'configured-mails': true })
  expect(second.json().data.attributes).toMatchObject({
    'own-run-triggers': ['run:errored'],
    'configured-mails': false,
  })
})

test('the configurations that name the user are listed, of places that the user may see', async () => {
  const user = await createUser(app)
  await addMember(app, organization.id, user)
  const workspace = await createWorkspace(app, { organization: organization.name, actor: owner.actor })
  const hidden = await createWorkspace(app, { organization: organization.name, actor: owner.actor })
  await createTeamWithAccess(app, {
    organizationId: organization.id,
    members: [user],
    workspaces: { [workspace.id]: 'read' },
  })
  const create = async (name: string, attributes: object, ids: string[], { id } = workspace) =>
    app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${id}/notification-configurations`,
      token: owner.token,
      body: {
        data: {
          type: 'notification-configurations',
          attributes: { name, 'destination-type': 'email', triggers: ['run:errored'], ...attributes },
          relationships: { users: { data: ids.map((id) => ({ id, type: 'users' })) } },
        },
      },
    })
  await create('by-address', { 'email-addresses': [user.email] }, [])
  await create('by-id', { enabled: true }, [user.id])
  await create('of-others', {}, [owner.id])
  await create('hidden', {}, [user.id], hidden)

  const { attributes } = await read(user.token)

  const subscribable = { id: workspace.id, type: 'workspaces', name: workspace.name }
  expect(attributes.configurations).toMatchObject([
    { name: 'by-address', enabled: false, 'organization-name': organization.name, subscribable },
    { name: 'by-id', enabled: true, triggers: ['run:errored'], subscribable },
  ])
})

test('configurations that mail all members of a project are listed for these', async () => {
  const [user, other] = [await createUser(app), await createUser(app)]
  await addMember(app, organization.id, user)
  await addMember(app, organization.id, other)
  const project = await createProject(app, { organization: organization.name, actor: owner.actor })
  const projects = { [project.id]: 'read' } as const
  await createTeamWithAccess(app, { organizationId: organization.id, members: [user, other], projects })
  const create = async (name: string, ids: string[], attributes: object = {}) =>
    app.request({
      method: 'POST',
      url: `/api/v2/projects/${project.id}/notification-configurations`,
      token: owner.token,
      body: {
        data: {
          type: 'notification-configurations',
          attributes: { name, 'destination-type': 'email', ...attributes },
          relationships: { users: { data: ids.map((id) => ({ id, type: 'users' })) } },
        },
      },
    })
  await create('all', [])
  await create('all-and-other', [other.id], { 'email-all-members': true })
  await create('other', [other.id])

  const { attributes } = await read(user.token)

  expect(attributes.configurations.map(({ name }: { name: string }) => name)).toEqual(['all', 'all-and-other'])
  expect(attributes['allows-other-addresses']).toBe(false)
})

test('unknown triggers are refused, and tokens of teams have no settings', async () => {
  const team = await createTeam(app, organization.id)

  const unknown = await patch(owner.token, { 'own-run-triggers': ['run:errored', 'run:created'] })
  const refused = await patch(await createTeamToken(app, team), { 'configured-mails': false })

  expect(unknown.status).toBe(422)
  expect(unknown.json().errors[0].source.pointer).toBe('/data/attributes/own-run-triggers/1')
  expect(refused.status).toBe(403)
})
