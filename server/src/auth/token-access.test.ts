import { describe, expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { createUser } from '../testing/factories.ts'
import { createFakeAgent } from '../testing/fake-agent.ts'
import { createReplica } from '../testing/replica.ts'
import { createRun, createRunSetting, type RunSetting } from '../testing/runs.ts'
import { lockedWorkspace, rawState, stateClient, stateVersionBody } from '../testing/state-versions.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const consumer = await createRunSetting(app)
const run = await createRun(app, consumer)
const job = await agent.take()

/** A workspace with a state, in an organization of `setting`. */
async function createSource({ user, organization }: Pick<RunSetting, 'user' | 'organization'>) {
  const source = await lockedWorkspace(app, organization, user)
  await source.create(rawState({ serial: 1, outputs: { address: '10.0.0.1' } }))
  return source
}

/** The requests with which an engine reads another workspace's state, with the run's token. */
async function readFromRun(source: { id: string; name: string }, organization = consumer.organization) {
  const get = async (url: string) => (await app.request({ url: `/api/v2${url}`, token: job.engineToken })).status
  return [
    await get(`/organizations/${organization}/workspaces/${source.name}`),
    await get(`/workspaces/${source.id}/current-state-version`),
    await get(`/workspaces/${source.id}/current-state-version-outputs`),
  ]
}

describe("a run's token", () => {
  test('reads the state of its workspace', async () => {
    expect(job.runId).toBe(run)

    const own = await app.request({ url: `/api/v2/workspaces/${consumer.workspaceId}`, token: job.engineToken })

    expect(own.status).toBe(200)
  })

  test('does not see a workspace that does not share its state', async () => {
    const source = await createSource(consumer)

    expect(await readFromRun(source)).toEqual([404, 404, 404])
  })

  test('gets an error about state sharing when the engine would create the workspace that it may not read', async () => {
    const source = await createSource(consumer)
    const url = `/api/v2/organizations/${consumer.organization}/workspaces`
    const body = { data: { type: 'workspaces', attributes: { name: source.name } } }

    const refused = await app.request({ method: 'POST', url, token: job.engineToken, body })

    expect(refused.status).toBe(403)
    expect(refused.json().errors[0].detail).toContain('set global-remote-state there')
  })

  test('reads a workspace that shares its state with the organization, until sharing ends', async () => {
    const source = await createSource(consumer)
    const share = async (value: boolean) =>
      source.request('PATCH', `/workspaces/${source.id}`, {
        data: { type: 'workspaces', attributes: { 'global-remote-state': value } },
      })

    await share(true)
    expect(await readFromRun(source)).toEqual([200, 200, 200])
    await share(false)

    expect(await readFromRun(source)).toEqual([404, 404, 404])
  })

  test('only reads a workspace of which it is a consumer', async () => {
    const source = await createSource(consumer)
    await source.request('POST', `/workspaces/${source.id}/relationships/remote-state-consumers`, {
      data: [{ type: 'workspaces', id: consumer.workspaceId }],
    })
    const asRun = stateClient(app, source, job.engineToken)

    expect(await readFromRun(source)).toEqual([200, 200, 200])
    expect((await asRun.request('GET', `/workspaces/${source.id}/vars`)).status).toBe(404)
    expect((await asRun.lock()).status).toBe(403)
    expect((await asRun.unlock()).status).toBe(403)
    expect((await asRun.post(rawState({ serial: 2 }))).status).toBe(404)
  })

  test('reads nothing in another organization', async () => {
    const other = await createRunSetting(app)
    const source = await createSource(other)
    await source.request('PATCH', `/workspaces/${source.id}`, {
      data: { type: 'workspaces', attributes: { 'global-remote-state': true } },
    })

    expect(await readFromRun(source, other.organization)).toEqual([404, 404, 404])
  })
})

test("an organization's token cannot create versions or roll back, even with the lock", async () => {
  const { user, organization } = consumer
  const source = await createSource(consumer)
  const [version] = (await source.request('GET', `/state-versions?${filter(organization, source.name)}`)).json().data
  await source.unlock()
  const made = await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${organization}/authentication-token`,
    token: user.token,
  })
  const asOrganization = stateClient(app, source, made.json().data.attributes.token)

  expect((await asOrganization.lock()).status).toBe(200)
  expect((await asOrganization.current()).status).toBe(200)
  const created = await asOrganization.request(
    'POST',
    `/workspaces/${source.id}/state-versions`,
    stateVersionBody(rawState({ serial: 2 })),
  )
  expect(created.status).toBe(404)
  expect((await asOrganization.rollBack(version.id)).status).toBe(404)
})

function filter(organization: string, workspace: string) {
  return `filter[organization][name]=${organization}&filter[workspace][name]=${workspace}`
}

test('the last use of a token is written once a minute', async () => {
  const { token, actor } = await createUser(app)
  const use = async () => {
    await app.request({ url: '/api/v2/account/details', token })
    const row = await app.db
      .selectFrom('tokens')
      .select('last_used_at')
      .where('id', '=', actor.tokenId ?? '')
      .executeTakeFirstOrThrow()
    return row.last_used_at
  }

  const first = await use()
  app.clock.advance(59_000)
  const soon = await use()
  app.clock.advance(1_000)
  const later = await use()

  expect(first).not.toBeNull()
  expect(soon).toEqual(first)
  expect(later).not.toEqual(first)
})

test('a token that is revoked on one replica is rejected by the next request to another', async () => {
  const { token, actor } = await createUser(app)
  const replica = await createReplica(app)
  const read = async () =>
    (await replica.fastify.inject({ url: '/api/v2/account/details', headers: { authorization: `Bearer ${token}` } }))
      .statusCode
  expect(await read()).toBe(200)

  await app.request({ method: 'DELETE', url: `/api/v2/authentication-tokens/${actor.tokenId}`, token })

  expect(await read()).toBe(401)
})
