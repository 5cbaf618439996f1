import { AGENT_API } from '@groundstate/contract/agent'
import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { act, addWorkspace, createRun, createRunSetting, postRun, readRun, runStatus } from '../../../testing/runs.ts'

const app = await createTestApp()

async function send(token: string, method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: object) {
  return app.request({ method, url: `/api/v2${path}`, token, ...(data && { body: { data } }) })
}

async function organizationIdOf({ user, organization }: { user: { token: string }; organization: string }) {
  const response = await send(user.token, 'GET', `/organizations/${organization}`)
  return response.json().data.attributes['external-id'] as string
}

async function createPool(
  setting: { user: { token: string }; organization: string },
  name = 'pool',
  rest: { attributes?: object; relationships?: object } = {},
) {
  const response = await send(setting.user.token, 'POST', `/organizations/${setting.organization}/agent-pools`, {
    type: 'agent-pools',
    attributes: { name, ...rest.attributes },
    relationships: rest.relationships ?? {},
  })
  expect(response.status).toBe(201)
  return response.json().data
}

async function createToken(setting: { user: { token: string } }, poolId: string, type = 'authentication-tokens') {
  const response = await send(setting.user.token, 'POST', `/agent-pools/${poolId}/authentication-tokens`, {
    type,
    attributes: { description: 'for the rack' },
  })
  expect(response.status).toBe(201)
  return response.json().data
}

describe('agent pools', () => {
  test('serve the workspaces of their scope only', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting, 'rack', { attributes: { 'organization-scoped': false } })
    const use = (attributes: object) =>
      send(setting.user.token, 'PATCH', `/workspaces/${setting.workspaceId}`, { type: 'workspaces', attributes })
    const scope = (rule: string, data: object[]) =>
      send(setting.user.token, 'PATCH', `/agent-pools/${pool.id}`, {
        type: 'agent-pools',
        relationships: { [rule]: { data } },
      })
    const itself = [{ type: 'workspaces', id: setting.workspaceId }]
    const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }

    const refused = await use(attributes)
    await scope('allowed-workspaces', itself)
    const taken = await use(attributes)
    await scope('excluded-workspaces', itself)
    const run = await postRun(app, setting)

    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/agent-pool-id')
    expect(taken.status).toBe(200)
    expect(run.status).toBe(422)
    expect(run.json().errors[0].detail).toContain('its scope must allow it first')
  })

  test('stay while an unfinished run is to be made there', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    const workspace = `/workspaces/${setting.workspaceId}`
    const use = (attributes: object) => send(setting.user.token, 'PATCH', workspace, { type: 'workspaces', attributes })
    await use({ 'execution-mode': 'agent', 'agent-pool-id': pool.id })
    await send(setting.user.token, 'POST', `${workspace}/actions/lock`)
    const run = await createRun(app, setting)
    await use({ 'execution-mode': 'remote' })

    const refused = await send(setting.user.token, 'DELETE', `/agent-pools/${pool.id}`)
    await act(app, setting, { run, action: 'discard' })
    const deleted = await send(setting.user.token, 'DELETE', `/agent-pools/${pool.id}`)

    expect(refused.status).toBe(409)
    expect(refused.text).toContain(`the run ${run}`)
    expect(deleted.status).toBe(204)
  })

  test('in use by what the caller may not see are refused without its name', async () => {
    const setting = await createRunSetting(app)
    const organizationId = await organizationIdOf(setting)
    const manager = await createUser(app)
    const organization = { manage_agent_pools: true }
    await createTeamWithAccess(app, { members: [manager], organizationId, organization })
    const pool = await createPool(setting)
    const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
    await send(setting.user.token, 'PATCH', `/workspaces/${setting.workspaceId}`, { type: 'workspaces', attributes })

    const refused = await send(manager.token, 'DELETE', `/agent-pools/${pool.id}`)

    expect(refused.status).toBe(409)
    expect(refused.json().errors[0].detail).toContain('is used by a workspace that you may not see')
    expect(refused.text).not.toContain(setting.workspaceName)
  })

  test('are created, shown, changed and deleted', async () => {
    const setting = await createRunSetting(app)
    const other = await createWorkspace(app, { organization: setting.organization, actor: setting.user.actor })

    const pool = await createPool(setting, 'rack-1', {
      attributes: { 'organization-scoped': false },
      relationships: { 'allowed-workspaces': { data: [{ type: 'workspaces', id: other.id }] } },
    })
    const changed = await send(setting.user.token, 'PATCH', `/agent-pools/${pool.id}`, {
      type: 'agent-pools',
      attributes: { name: 'rack-2' },
      relationships: { 'excluded-workspaces': { data: [{ type: 'workspaces', id: setting.workspaceId }] } },
    })

    expect(pool.attributes).toMatchObject({ name: 'rack-1', 'organization-scoped': false, 'agent-count': 0 })
    expect(pool.relationships['allowed-workspaces'].data).toEqual([{ id: other.id, type: 'workspaces' }])
    expect(pool.relationships.organization.data.id).toBe(setting.organization)
    expect(changed.json().data.attributes.name).toBe('rack-2')
    expect(changed.json().data.relationships['excluded-workspaces'].data).toEqual([
      { id: setting.workspaceId, type: 'workspaces' },
    ])
    expect((await send(setting.user.token, 'DELETE', `/agent-pools/${pool.id}`)).status).toBe(204)
    expect((await send(setting.user.token, 'GET', `/agent-pools/${pool.id}`)).status).toBe(404)
  })

  test('show a member those workspaces and projects only that the member sees, and keep the others', async () => {
    const setting = await createRunSetting(app)
    const { organization } = setting
    const organizationId = await organizationIdOf(setting)
    const project = await createProject(app, { organization, actor: setting.user.actor })
    const hidden = await createWorkspace(app, { organization, actor: setting.user.actor })
    const manager = await createUser(app)
    await createTeamWithAccess(app, {
      members: [manager],
      organizationId,
      organization: { manage_agent_pools: true },
      workspaces: { [setting.workspaceId]: 'read' },
    })
    const workspaces = (...ids: string[]) => ({ data: ids.map((id) => ({ id, type: 'workspaces' })) })
    const pool = await createPool(setting, 'shared', {
      attributes: { 'organization-scoped': false },
      relationships: {
        'allowed-workspaces': workspaces(hidden.id, setting.workspaceId),
        'allowed-projects': { data: [{ id: project.id, type: 'projects' }] },
      },
    })

    const shown = (await send(manager.token, 'GET', `/agent-pools/${pool.id}`)).json().data.relationships
    const relationships = { 'allowed-workspaces': workspaces(), 'allowed-projects': { data: [] } }
    const changed = await send(manager.token, 'PATCH', `/agent-pools/${pool.id}`, {
      type: 'agent-pools',
      relationships,
    })
    const kept = (await send(setting.user.token, 'GET', `/agent-pools/${pool.id}`)).json().data.relationships

    expect(shown['allowed-workspaces'].data).toEqual([{ id: setting.workspaceId, type: 'workspaces' }])
    expect(shown['allowed-projects'].data).toEqual([])
    expect(changed.status).toBe(200)
    expect(kept['allowed-workspaces'].data).toEqual([{ id: hidden.id, type: 'workspaces' }])
    expect(kept['allowed-projects'].data).toEqual([{ id: project.id, type: 'projects' }])
  })

  test('list their agents since a moment that there can be', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    const list = (since: string) =>
      send(setting.user.token, 'GET', `/agent-pools/${pool.id}/agents?filter[last-ping-since]=${since}`)

    const refused = await list('-271821-04-20T00:00:00Z')

    expect((await list('2026-01-01T00:00:00Z')).status).toBe(200)
    expect(refused.status).toBe(422)
    expect(refused.json().errors[0]).toMatchObject({
      detail: expect.stringContaining('-271821'),
      source: { parameter: 'filter[last-ping-since]' },
    })
  })

  test('are listed by name, searched and filtered; the server’s own is not among them', async () => {
    const setting = await createRunSetting(app)
    await createPool(setting, 'b')
    await createPool(setting, 'a', { attributes: { 'organization-scoped': false } })
    const list = async (query: string) =>
      (await send(setting.user.token, 'GET', `/organizations/${setting.organization}/agent-pools${query}`))
        .json()
        .data.map((pool: any) => pool.attributes.name)

    expect(await list('')).toEqual(['a', 'b'])
    expect(await list('?sort=-name')).toEqual(['b', 'a'])
    expect(await list('?q=B')).toEqual(['b'])
    expect(await list(`?filter[allowed_workspaces][name]=${setting.workspaceName}`)).toEqual(['b'])
    expect((await send(setting.user.token, 'GET', '/agent-pools/apool-builtin')).status).toBe(404)
  })

  test('have names of their own, and workspaces that exist', async () => {
    const setting = await createRunSetting(app)
    const foreign = await createRunSetting(app)
    await createPool(setting, 'same')
    const path = `/organizations/${setting.organization}/agent-pools`

    const again = await send(setting.user.token, 'POST', path, { type: 'agent-pools', attributes: { name: 'SAME' } })
    const wrong = await send(setting.user.token, 'POST', path, {
      type: 'agent-pools',
      attributes: { name: 'other' },
      relationships: { 'allowed-workspaces': { data: [{ type: 'workspaces', id: foreign.workspaceId }] } },
    })

    expect([again.status, wrong.status]).toEqual([422, 422])
    expect(wrong.text).toContain(`has no workspace ${foreign.workspaceId}`)
  })

  test('that a workspace uses stay', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    await addWorkspace(app, { ...setting, attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id } })

    const response = await send(setting.user.token, 'DELETE', `/agent-pools/${pool.id}`)

    expect(response.status).toBe(409)
    expect(response.text).toContain('is used by the workspace')
  })
})

describe('agent tokens', () => {
  test.each(['authentication-tokens', 'agent-tokens'])(
    'of the type %s are made; their text is told once',
    async (type) => {
      const setting = await createRunSetting(app)
      const pool = await createPool(setting)

      const token = await createToken(setting, pool.id, type)

      expect(token).toMatchObject({
        id: expect.stringMatching(/^at-/),
        type: 'authentication-tokens',
        attributes: { description: 'for the rack', 'last-used-at': null, token: expect.any(String) },
        relationships: { 'created-by': { data: { id: setting.user.id, type: 'users' } } },
      })
      const list = (await send(setting.user.token, 'GET', `/agent-pools/${pool.id}/authentication-tokens`)).json()
      expect(list.data).toMatchObject([{ id: token.id, attributes: { token: null } }])
      expect(list.meta.pagination['total-count']).toBe(1)
      const shown = (await send(setting.user.token, 'GET', `/authentication-tokens/${token.id}`)).json()
      expect(shown.data.attributes.token).toBeNull()
    },
  )

  test.each([
    [{ type: 'authentication-tokens', attributes: {} }],
    [{ type: 'authentication-tokens', attributes: { description: ' ' } }],
    [{ type: 'authentication-tokens', attributes: { description: 7 } }],
    [{ type: 'users', attributes: { description: 'x' } }],
  ])('with the body %j are refused', async (data) => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)

    expect((await send(setting.user.token, 'POST', `/agent-pools/${pool.id}/authentication-tokens`, data)).status).toBe(
      422,
    )
  })

  test('are gone when they are deleted, and their agents with them', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    const token = await createToken(setting, pool.id)
    const agent = await createFakeAgent(app, { token: token.attributes.token })

    expect((await send(setting.user.token, 'DELETE', `/authentication-tokens/${token.id}`)).status).toBe(204)

    await expect(agent.claim()).rejects.toThrow('unauthorized')
    expect((await send(setting.user.token, 'DELETE', `/authentication-tokens/${token.id}`)).status).toBe(404)
  })

  test('are not to be found by a stranger, nor by a token of an agent', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    const token = await createToken(setting, pool.id)
    const stranger = await createUser(app)

    for (const asker of [stranger.token, token.attributes.token]) {
      const statuses = await Promise.all([
        send(asker, 'GET', `/agent-pools/${pool.id}/authentication-tokens`),
        send(asker, 'POST', `/agent-pools/${pool.id}/authentication-tokens`, {
          type: 'authentication-tokens',
          attributes: { description: 'x' },
        }),
        send(asker, 'GET', `/authentication-tokens/${token.id}`),
        send(asker, 'DELETE', `/authentication-tokens/${token.id}`),
      ])
      expect(statuses.map((response) => response.status)).toEqual([404, 404, 404, 404])
    }
  })
})

describe('agents', () => {
  test('take the jobs of their pool and no others', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    const token = await createToken(setting, pool.id)
    const remote = await createRun(app, setting, { 'plan-only': true })
    const ours = await addWorkspace(app, {
      ...setting,
      attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id },
    })
    const run = await createRun(app, ours, { 'plan-only': true })
    expect((await readRun(app, ours, run)).attributes['waiting-reason']).toBe('no agent of the pool pool is online')

    const agent = await createFakeAgent(app, { token: token.attributes.token, name: 'rack' })
    const job = await agent.take()

    expect(job.runId).toBe(run)
    expect(await agent.claim()).toBeUndefined()
    expect(await runStatus(app, setting, remote)).toBe('plan_queued')
    await job.finish({ hasChanges: false })
    const plan = (await send(setting.user.token, 'GET', `/runs/${run}/plan`)).json().data
    expect(plan.attributes['execution-details']).toMatchObject({
      mode: 'agent',
      'agent-name': 'rack',
      'agent-pool-name': 'pool',
    })
    await (await (await createFakeAgent(app)).take()).finish({ hasChanges: false })
  })

  test('are idle, busy, unknown, errored and exited, and deleted only once they are gone', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    const token = await createToken(setting, pool.id)
    const agent = await createFakeAgent(app, { token: token.attributes.token })
    const ours = await addWorkspace(app, {
      ...setting,
      attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id },
    })
    const status = async () =>
      (await send(setting.user.token, 'GET', `/agents/${agent.id}`)).json().data.attributes.status

    expect(await status()).toBe('idle')
    expect(
      (await send(setting.user.token, 'GET', `/agent-pools/${pool.id}`)).json().data.attributes['agent-count'],
    ).toBe(1)
    await createRun(app, ours, { 'plan-only': true })
    const job = await agent.take()
    expect(await status()).toBe('busy')
    expect((await send(setting.user.token, 'DELETE', `/agents/${agent.id}`)).status).toBe(412)
    await job.finish({ hasChanges: false })
    app.clock.advance(61_000)
    expect(await status()).toBe('unknown')
    app.clock.advance(2 * 3_600_000)
    expect(await status()).toBe('errored')
    await agent.claim()
    expect(await status()).toBe('idle')
    const goodbye = { method: 'POST', url: `${AGENT_API}/agents/${agent.id}/deregister`, token: agent.token } as const
    expect((await app.request(goodbye)).status).toBe(204)
    expect(await status()).toBe('exited')
    expect((await send(setting.user.token, 'DELETE', `/agents/${agent.id}`)).status).toBe(204)
    expect((await send(setting.user.token, 'GET', `/agent-pools/${pool.id}/agents`)).json().data).toEqual([])
  })

  test('that said goodbye have their waiting claims answered, and keep their id when they come back', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    const token = (await createToken(setting, pool.id)).attributes.token
    const agent = await createFakeAgent(app, { token, name: 'same' })
    const waiting = agent.claim({ waitMs: 20_000 })
    await agent.claim()

    await app.request({ method: 'POST', url: `${AGENT_API}/agents/${agent.id}/deregister`, token })

    expect(await waiting).toBeUndefined()
    expect((await createFakeAgent(app, { token, name: 'same' })).id).toBe(agent.id)
  })

  test('the free plan has one', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(setting)
    const token = (await createToken(setting, pool.id)).attributes.token
    await app.db.updateTable('organizations').set({ plan: 'free' }).where('name', '=', setting.organization).execute()
    const first = await createFakeAgent(app, { token, name: 'first' })

    await expect(createFakeAgent(app, { token, name: 'second' })).rejects.toThrow(
      'the free plan, with 1 self-hosted agent',
    )

    const again = await createFakeAgent(app, { token, name: 'first' })
    expect(again.id).toBe(first.id)
    app.clock.advance(61_000)
    await createFakeAgent(app, { token, name: 'second' })
  })
})
