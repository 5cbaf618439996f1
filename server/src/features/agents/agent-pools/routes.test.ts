import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import { actOnRun, addWorkspace, createRun, createRunSetting, postRun } from '../../../testing/runs.ts'
import { createPool } from './testing/pools.ts'
import { sender } from './testing/send.ts'

const app = await createTestApp()
const send = sender(app)

async function organizationIdOf({ user, organization }: { user: { token: string }; organization: string }) {
  const response = await send(user.token, 'GET', `/organizations/${organization}`)
  return response.json().data.attributes['external-id'] as string
}

describe('agent pools', () => {
  test('serve the workspaces of their scope only', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting, { name: 'rack', attributes: { 'organization-scoped': false } })
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
    for (const { errors } of [refused.json(), run.json()])
      expect(errors[0].detail).toBe('the agent pool rack is not for this workspace: its scope must allow it first')
  })

  test('cannot be deleted while an unfinished run needs them', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    const workspace = `/workspaces/${setting.workspaceId}`
    const use = (attributes: object) => send(setting.user.token, 'PATCH', workspace, { type: 'workspaces', attributes })
    await use({ 'execution-mode': 'agent', 'agent-pool-id': pool.id })
    await send(setting.user.token, 'POST', `${workspace}/actions/lock`)
    const run = await createRun(app, setting)
    await use({ 'execution-mode': 'remote' })

    const refused = await send(setting.user.token, 'DELETE', `/agent-pools/${pool.id}`)
    await actOnRun(app, setting, { run, action: 'discard' })
    const deleted = await send(setting.user.token, 'DELETE', `/agent-pools/${pool.id}`)

    expect(refused.status).toBe(409)
    expect(refused.text).toContain(`the run ${run}`)
    expect(deleted.status).toBe(204)
  })

  test('used by an invisible resource cannot be deleted, and the error does not name it', async () => {
    const setting = await createRunSetting(app)
    const organizationId = await organizationIdOf(setting)
    const manager = await createUser(app)
    const organization = { manage_agent_pools: true }
    await createTeamWithAccess(app, { members: [manager], organizationId, organization })
    const pool = await createPool(app, setting)
    const attributes = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
    await send(setting.user.token, 'PATCH', `/workspaces/${setting.workspaceId}`, { type: 'workspaces', attributes })

    const refused = await send(manager.token, 'DELETE', `/agent-pools/${pool.id}`)

    expect(refused.status).toBe(409)
    expect(refused.json().errors[0].detail).toContain('is used by a workspace that you may not see')
    expect(refused.text).not.toContain(setting.workspaceName)
  })

  test('are created, shown, updated and deleted', async () => {
    const setting = await createRunSetting(app)
    const other = await createWorkspace(app, { organization: setting.organization, actor: setting.user.actor })

    const pool = await createPool(app, setting, {
      name: 'rack-1',
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

  test('show only visible workspaces and projects, and keep the others on an update', async () => {
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
    const pool = await createPool(app, setting, {
      name: 'shared',
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

  test('are listed by name, searched and filtered; the server’s own is not among them', async () => {
    const setting = await createRunSetting(app)
    await createPool(app, setting, { name: 'b' })
    await createPool(app, setting, { name: 'a', attributes: { 'organization-scoped': false } })
    const list = async (query: string) =>
      (await send(setting.user.token, 'GET', `/organizations/${setting.organization}/agent-pools${query}`))
        .json()
        .data.map((pool: any) => pool.attributes.name)

    expect(await list('')).toEqual(['a', 'b'])
    expect(await list('?sort=-name')).toEqual(['b', 'a'])
    expect(await list('?q=B')).toEqual(['b'])
    expect(await list(`?filter[allowed_workspaces][name]=${setting.workspaceName}`)).toEqual(['b'])
    // The same as for a name that does not exist.
    const member = await createUser(app)
    await createTeamWithAccess(app, { members: [member], organizationId: await organizationIdOf(setting) })
    const probe = `/organizations/${setting.organization}/agent-pools?filter[allowed_workspaces][name]=${setting.workspaceName}`
    expect((await send(member.token, 'GET', probe)).json().data).toEqual([])
    expect((await send(setting.user.token, 'GET', '/agent-pools/apool-builtin')).status).toBe(404)
  })

  test('have unique names, and workspaces that exist', async () => {
    const setting = await createRunSetting(app)
    const foreign = await createRunSetting(app)
    await createPool(app, setting, { name: 'same' })
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

  test('have more workspaces in a list than other lists have items', async () => {
    const setting = await createRunSetting(app)
    const create = async (ids: string[]) =>
      send(setting.user.token, 'POST', `/organizations/${setting.organization}/agent-pools`, {
        type: 'agent-pools',
        attributes: { name: 'large' },
        relationships: { 'allowed-workspaces': { data: ids.map((id) => ({ type: 'workspaces', id })) } },
      })
    await sql`insert into workspaces (id, organization_id, project_id, name, engine_version, created_at, updated_at, latest_change_at)
      select 'ws-large' || n, organization_id, project_id, 'large' || n, engine_version, created_at, updated_at, latest_change_at
        from workspaces, generate_series(1, 1001) n where id = ${setting.workspaceId}`.execute(app.db)
    const ids = Array.from({ length: 1001 }, (_, index) => `ws-large${index + 1}`)

    const unknown = await create([...ids, 'ws-unknown'])
    const tooMany = await create(Array(10_001).fill(setting.workspaceId))
    const created = await create(ids)

    expect(unknown.text).toContain('has no workspace ws-unknown')
    expect(tooMany.text).toContain('data has 10001 items; it must have at most 10000')
    expect(created.status).toBe(201)
    expect(created.json().data.relationships['allowed-workspaces'].data).toHaveLength(1001)
  })

  test('that a workspace uses cannot be deleted', async () => {
    const setting = await createRunSetting(app)
    const pool = await createPool(app, setting)
    await addWorkspace(app, { ...setting, attributes: { 'execution-mode': 'agent', 'agent-pool-id': pool.id } })

    const response = await send(setting.user.token, 'DELETE', `/agent-pools/${pool.id}`)

    expect(response.status).toBe(409)
    expect(response.text).toContain('is used by the workspace')
  })
})
