import { AGENT_API } from '@groundstate/contract/agent'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { createOrganization, createUser } from '../testing/factories.ts'
import { createFakeAgent } from '../testing/fake-agent.ts'
import { createRun, createRunSetting } from '../testing/runs.ts'
import { lockedWorkspace, rawState } from '../testing/state-versions.ts'

const app = await createTestApp()

describe('a response with a secret is neither cached nor compressed', () => {
  test('of a token that was created', async () => {
    const user = await createUser(app)
    const { name } = await createOrganization(app, user)
    const create = (type: string, path: string, attributes = {}) =>
      app.request({ method: 'POST', url: `/api/v2${path}`, token: user.token, body: { data: { type, attributes } } })
    const team = (await create('teams', `/organizations/${name}/teams`, { name: 'ops' })).json().data.id
    const pool = (await create('agent-pools', `/organizations/${name}/agent-pools`, { name: 'own' })).json().data.id
    const owners = [`users/${user.id}`, `organizations/${name}`, `teams/${team}`, `agent-pools/${pool}`]
    const paths = owners.map((owner) => `/${owner}/authentication-token${/^(?:users|agent)/.test(owner) ? 's' : ''}`)

    for (const path of [...paths, `/teams/${team}/authentication-tokens`]) {
      const response = await create('authentication-tokens', path, { description: 'ci' })

      expect([path, response.status, response.headers['cache-control']]).toEqual([path, 201, 'no-store'])
    }
  })

  test('of outputs with sensitive values', async () => {
    const user = await createUser(app)
    const { name } = await createOrganization(app, user)
    const workspace = await lockedWorkspace(app, name, user)
    const password = { value: 'p'.repeat(4000), type: 'string', sensitive: true }
    const version = await workspace.create(rawState({ outputs: { password, region: 'r'.repeat(16_000) } }))
    const read = async (path: string) => {
      const headers = { 'accept-encoding': 'gzip' }
      const response = await app.request({ url: `/api/v2${path}`, token: user.token, headers })
      return [response.status, response.headers['cache-control'], response.headers['content-encoding']]
    }

    const paths = [
      `/state-versions/${version.id}/outputs`,
      `/state-version-outputs/${version.relationships.outputs.data[0].id}`,
      `/state-versions/${version.id}?include=outputs`,
    ]
    for (const path of paths) expect([path, ...(await read(path))]).toEqual([path, 200, 'no-store', undefined])

    const withheld = await read(`/state-versions/${version.id}/outputs?withhold-sensitive=true`)
    expect(withheld).toEqual([200, 'private, no-cache', 'gzip'])
  })

  test('of a job with its variables', async () => {
    await createRun(app, await createRunSetting(app))
    const agent = await createFakeAgent(app)

    const url = `${AGENT_API}/agents/${agent.id}/claim`
    const claim = await app.request({ method: 'POST', url, token: agent.token, body: { waitMs: 0 } })

    expect([claim.status, claim.headers['cache-control']]).toEqual([200, 'no-store'])
  })

  test('of a plan in JSON', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    const job = await (await createFakeAgent(app)).take()
    await job.put('plan-json', '{}')
    await job.finish()

    const plan = await app.request({ url: `/api/v2/runs/${run}/plan/json-output`, token: setting.user.token })

    expect([plan.text, plan.headers['cache-control']]).toEqual(['{}', 'no-store'])
  })
})
