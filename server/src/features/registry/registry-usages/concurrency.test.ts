import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { addWorkspace, createRun } from '../../../testing/runs.ts'
import { planWith } from './testing/plans.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const inside = `/api/v2/organizations/${acme.name}`

async function send(method: 'POST' | 'DELETE', path: string, data?: object) {
  return app.request({ method, url: `${inside}${path}`, token: owner.token, ...(data && { body: { data } }) })
}

test('plans that report uses and forced deletions of what they use do not block each other', async () => {
  const settings = []
  for (let number = 0; number < 3; number++)
    settings.push(await addWorkspace(app, { user: owner, organization: acme.name }))
  const names = ['a', 'b']
  const versions = ['1.0.0', '2.0.0']
  const partsOf = (suffix: string) =>
    names.flatMap((name) => versions.map((version) => ({ address: `${acme.name}/${name}${suffix}`, version })))
  const everything = { modules: partsOf('/aws'), providers: partsOf('') }
  const statuses = new Set<number>()

  for (let round = 0; round < 8; round++) {
    for (const name of names) {
      await send('POST', '/registry-modules', { type: 'registry-modules', attributes: { name, provider: 'aws' } })
      const attributes = { name, namespace: acme.name, 'registry-name': 'private' }
      await send('POST', '/registry-providers', { type: 'registry-providers', attributes })
    }
    for (const setting of settings) await planWith(app, agent, { setting, installed: everything })
    const jobs = []
    for (const setting of settings) {
      await createRun(app, setting)
      jobs.push(await agent.take())
    }
    const installed = round % 2 === 0 ? everything : { modules: [], providers: [] }

    const responses = await Promise.all([
      ...jobs.map(async (job) => job.finish({ hasChanges: false, installed })),
      ...names.map(async (name) => send('DELETE', `/registry-modules/private/${acme.name}/${name}/aws?force=true`)),
      ...names.map(async (name) => send('DELETE', `/registry-providers/private/${acme.name}/${name}?force=true`)),
    ])

    for (const { status } of responses) statuses.add(status)
  }

  expect([...statuses]).toEqual([204])
})
