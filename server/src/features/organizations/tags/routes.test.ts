import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

async function newWorkspace(tags: readonly string[] = [], projectId?: string) {
  return createWorkspace(app, {
    organization: acme.name,
    actor: owner.actor,
    tags,
    ...(projectId !== undefined && { projectId }),
  })
}

async function send(method: 'POST' | 'PATCH' | 'DELETE', url: string, data: readonly object[], token = owner.token) {
  return app.request({ method, url: `/api/v2/${url}`, token, body: { data } })
}

function bindings(pairs: Record<string, string | undefined>) {
  return Object.entries(pairs).map(([key, value]) => ({ type: 'tag-bindings', attributes: { key, value } }))
}

test('a reserved key can keep workspaces from overriding their project', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const workspace = await newWorkspace([], project.id)
  await send('PATCH', `projects/${project.id}/tag-bindings`, bindings({ cost: 'a' }))
  const attributes = { key: 'cost', 'disable-overrides': true }
  const url = `/api/v2/organizations/${acme.name}/reserved-tag-keys`
  const body = { data: { type: 'reserved-tag-keys', attributes } }

  const created = await app.request({ method: 'POST', url, token: owner.token, body })
  const again = await app.request({ method: 'POST', url, token: owner.token, body })
  const refused = await send('PATCH', `workspaces/${workspace.id}/tag-bindings`, bindings({ fine: '1', cost: 'b' }))
  const key = `/api/v2/reserved-tag-keys/${created.json().data.id}`
  const stranger = await createUser(app)
  const hidden = await app.request({ method: 'DELETE', url: key, token: stranger.token })
  const relaxed = await app.request({
    method: 'PATCH',
    url: key,
    token: owner.token,
    body: { data: { type: 'reserved-tag-keys', attributes: { 'disable-overrides': false } } },
  })
  const accepted = await send('PATCH', `workspaces/${workspace.id}/tag-bindings`, bindings({ cost: 'b' }))
  const deleted = await app.request({ method: 'DELETE', url: key, token: owner.token })

  expect(created.json().data.attributes).toMatchObject(attributes)
  expect(again.json().errors[0].detail).toContain('Key has already been taken')
  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].source.pointer).toBe('/data/1/attributes/key')
  expect([hidden.status, relaxed.status, accepted.status, deleted.status]).toEqual([404, 200, 200, 204])
})

test.each([
  [undefined, "Key can't be blank"],
  ['', "Key can't be blank"],
  ['! / nope', 'Key is invalid'],
  ['x'.repeat(256), 'Key is invalid'],
])('the reserved key %j is rejected with the message that clients expect', async (key, words) => {
  const body = { data: { type: 'reserved-tag-keys', attributes: { key, 'disable-overrides': true } } }
  const url = `/api/v2/organizations/${acme.name}/reserved-tag-keys`
  const refused = await app.request({ method: 'POST', url, token: owner.token, body })

  expect(refused.status).toBe(422)
  expect(refused.json().errors).toHaveLength(1)
  expect(refused.json().errors[0]).toMatchObject({
    title: 'invalid attribute',
    detail: expect.stringMatching(new RegExp(`^${words}`)),
    source: { pointer: '/data/attributes/key' },
  })
})
