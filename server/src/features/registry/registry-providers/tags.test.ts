import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const PROVIDERS = `/api/v2/organizations/${acme.name}/registry-providers`
const RANDOM = `${PROVIDERS}/public/hashicorp/random`

async function send(method: 'GET' | 'POST' | 'PATCH', url: string, data?: object, token = owner.token) {
  return app.request({ method, url, token, ...(data && { body: { data: { type: 'registry-providers', ...data } } }) })
}

const tags = (...list: { key: string; value: string }[]) => ({
  relationships: { 'tag-bindings': { data: list.map((attributes) => ({ type: 'tag-bindings', attributes })) } },
})
const attributes = { name: 'random', namespace: 'hashicorp', 'registry-name': 'public' }
const created = (await send('POST', PROVIDERS, { attributes })).json().data

async function listTags() {
  const response = await send('GET', `/api/v2/registry-providers/${created.id}/tag-bindings`)
  return response
    .json()
    .data.map((tag: { attributes: { key: string; value: string } }) => [tag.attributes.key, tag.attributes.value])
}

test('the tags of a provider are replaced, and kept by an update without them, also by clients that send an empty type', async () => {
  const tagged = await send('PATCH', RANDOM, tags({ key: 'env', value: 'prod' }, { key: 'team', value: 'core' }))
  const listed = await listTags()
  await send('PATCH', RANDOM, { type: '' })
  const kept = await listTags()
  await send('PATCH', RANDOM, { type: '', ...tags() })

  expect(tagged.json().data).toMatchObject({ id: created.id, attributes: { name: 'random' } })
  expect(listed).toEqual([
    ['env', 'prod'],
    ['team', 'core'],
  ])
  expect(kept).toEqual(listed)
  expect(await listTags()).toEqual([])
})

test('only those who manage providers change tags', async () => {
  const member = await createUser(app)
  await addMember(app, acme.id, member)

  const refused = await send('PATCH', RANDOM, tags({ key: 'env', value: 'prod' }), member.token)
  const invalid = await send('PATCH', RANDOM, tags({ key: '', value: 'prod' }))

  expect(refused.status).toBe(403)
  expect(invalid.status).toBe(422)
  expect(invalid.json().errors[0].source.pointer).toContain('/tag-bindings/data/0')
})
