import { expect, test } from 'vitest'
import { createTestApp } from '../../testing/app.ts'
import { createOrganization, createUser } from '../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const organization = await createOrganization(app, owner)
const url = `/api/v2/organizations/${organization.name}/workspaces`

test('a new workspace has the defaults that clients count on', async () => {
  const res = await app.request({
    method: 'POST',
    url,
    token: owner.token,
    body: { data: { type: 'workspaces', attributes: { name: 'first' } } },
  })

  expect(res.status).toBe(201)
  console.log(JSON.stringify(res.json(), null, 1))
})
