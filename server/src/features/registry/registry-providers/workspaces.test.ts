import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

test('the workspaces that use a provider are listed to those who may see it', async () => {
  const workspace = await createWorkspace(app, { organization: acme.name, actor: owner.actor })
  const attributes = { name: 'cloud', namespace: acme.name, 'registry-name': 'private' }
  const created = await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${acme.name}/registry-providers`,
    token: owner.token,
    body: { data: { type: 'registry-providers', attributes } },
  })
  const use = { workspace_id: workspace.id, source: `${acme.name}/cloud`.toLowerCase(), version: '1.0.0' }
  await app.db
    .insertInto('registry_provider_uses')
    .values({ ...use, used_at: app.now() })
    .execute()
  const outsider = await createUser(app)
  const read = async (token: string) =>
    app.request({ method: 'GET', url: `/api/v2/registry-providers/${created.json().data.id}/workspaces`, token })

  const listed = await read(owner.token)
  const hidden = await read(outsider.token)

  expect(listed.json()).toMatchObject({
    data: [{ type: 'registry-usages', attributes: { 'workspace-name': workspace.name, version: '1.0.0' } }],
    meta: { 'hidden-count': 0 },
  })
  expect(hidden.status).toBe(404)
})
