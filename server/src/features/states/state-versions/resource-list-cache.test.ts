import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { lockedWorkspace, rawState } from '../../../testing/state-versions.ts'

test('a state with thousands of resources lists all of them on every route', async () => {
  const app = await createTestApp()
  const user = await createUser(app)
  const organization = (await createOrganization(app, user)).name
  const workspace = await lockedWorkspace(app, organization, user)
  const names = Array.from({ length: 3000 }, (_, index) => `item-${index}`)
  const { id } = await workspace.create(rawState({ serial: 1, resources: ['small'] }))
  const long = await workspace.create(rawState({ serial: 2, resources: names }))
  await app.runJobs()

  const query = `filter[organization][name]=${organization}&filter[workspace][name]=${workspace.name}`
  const list = (await workspace.request('GET', `/state-versions?${query}`)).json().data
  const shown = [
    (await workspace.show(long.id)).attributes.resources,
    (await workspace.show(long.id)).attributes.resources,
    (await workspace.current()).json().data.attributes.resources,
    list[0].attributes.resources,
  ]

  for (const resources of shown) {
    expect(resources.map((resource: { name: string }) => resource.name)).toEqual(names)
  }
  expect(list[1]).toMatchObject({ id, attributes: { resources: [{ name: 'small', count: 1, module: 'root' }] } })
})
