import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const workspace = async (name: string) => createWorkspace(app, { organization: acme.name, actor: owner.actor, name })
// Consumers are listed by their names.
const source = await workspace('source')
const [first, second, third] = [await workspace('a'), await workspace('b'), await workspace('c')]
const url = `/api/v2/workspaces/${source.id}/relationships/remote-state-consumers`

async function send(method: 'POST' | 'PATCH' | 'DELETE', ids: readonly string[], token = owner.token) {
  return app.request({ method, url, token, body: { data: ids.map((id) => ({ type: 'workspaces', id })) } })
}

async function consumers(token = owner.token) {
  const res = await app.request({ url, token })
  return res.json().data.map((item: any) => item.id)
}

test('consumers are added, removed and replaced', async () => {
  expect((await send('POST', [first.id, second.id])).status).toBe(204)
  expect((await send('POST', [first.id])).status).toBe(204)
  expect(await consumers()).toEqual([first.id, second.id])

  expect((await send('DELETE', [first.id])).status).toBe(204)
  expect(await consumers()).toEqual([second.id])

  expect((await send('PATCH', [third.id])).status).toBe(204)
  expect(await consumers()).toEqual([third.id])
})

test('a workspace that the caller does not see can be neither added nor removed', async () => {
  const admin = await createUser(app)
  await createTeamWithAccess(app, { members: [admin], organizationId: acme.id, workspaces: { [source.id]: 'admin' } })
  const foreign = await createWorkspace(app, { organization: (await createOrganization(app, owner)).name })
  await send('PATCH', [third.id])

  const hidden = await send('POST', [first.id], admin.token)
  const elsewhere = await send('POST', [foreign.id])
  const replaced = await send('PATCH', [], admin.token)

  expect(hidden.status).toBe(422)
  expect(hidden.json().errors[0].source.pointer).toBe('/data/0/id')
  expect(elsewhere.status).toBe(422)
  expect(replaced.status).toBe(204)
  expect(await consumers(admin.token)).toEqual([])
  expect(await consumers()).toEqual([third.id])
})
