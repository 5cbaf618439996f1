import { beforeAll, describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import {
  type TestUser,
  createOrganization,
  createProject,
  createUser,
  createWorkspace,
} from '../../../testing/factories.ts'
import { addMember, createTeam } from '../../../testing/teams.ts'
import { createOrganizationToken } from '../authentication-tokens/service.ts'

let app: TestApp
let owner: TestUser
let member: TestUser
let outsider: TestUser
let organization: { id: string; name: string }
let ownersId: string
beforeAll(async () => {
  app = await createTestApp()
  ;[owner, member, outsider] = [await createUser(app), await createUser(app), await createUser(app)]
  organization = await createOrganization(app, owner)
  await addMember(app, organization.id, member)
  ownersId = (await list('?filter[names]=owners')).json().data[0].id
})

const url = () => `/api/v2/organizations/${organization.name}/teams`
const list = (query = '', token = owner.token) => app.request({ url: `${url()}${query}`, token })
const show = (id: string, token = owner.token, query = '') => app.request({ url: `/api/v2/teams/${id}${query}`, token })
const create = (attributes: Record<string, unknown>, token = owner.token) =>
  app.request({ method: 'POST', url: url(), token, body: { data: { type: 'teams', attributes } } })
const update = (id: string, attributes: Record<string, unknown>, token = owner.token) =>
  app.request({ method: 'PATCH', url: `/api/v2/teams/${id}`, token, body: { data: { type: 'teams', attributes } } })
const remove = (id: string, token = owner.token) => app.request({ method: 'DELETE', url: `/api/v2/teams/${id}`, token })
const users = (method: 'POST' | 'DELETE', id: string, names: string[], token = owner.token) =>
  app.request({
    method,
    url: `/api/v2/teams/${id}/relationships/users`,
    token,
    body: { data: names.map((id) => ({ type: 'users', id })) },
  })

describe("an organization's token", () => {
  test('manages every team except the owners', async () => {
    const { text } = await createOrganizationToken(app.as(owner.actor), organization.name, { kind: 'organization' })
    const strong = await createTeam(app, organization.id, { columns: { manage_workspaces: true } })
    const body = {
      data: {
        type: 'organization-memberships',
        attributes: { email: 'heir@example.com' },
        relationships: { teams: { data: [{ type: 'teams', id: ownersId }] } },
      },
    }

    const added = await users('POST', ownersId, [member.username], text)
    const invited = await app.request({
      method: 'POST',
      url: `/api/v2/organizations/${organization.name}/organization-memberships`,
      token: text,
      body,
    })
    const grouped = await update(ownersId, { 'sso-team-id': 'group' }, text)

    expect([added.status, invited.status, grouped.status]).toEqual([403, 403, 403])
    expect((await show(ownersId, text)).status).toBe(200)
    expect((await users('POST', strong, [member.username], text)).status).toBe(204)
  })
})

describe('a team with more access than the caller', () => {
  let manager: TestUser
  let colleague: TestUser
  let strong: string
  let equal: string
  beforeAll(async () => {
    manager = await createUser(app)
    colleague = await createUser(app)
    await addMember(app, organization.id, colleague)
    const columns = { visibility: 'organization' as const }
    const held = { manage_organization_access: true, manage_run_tasks: true }
    await createTeam(app, organization.id, { members: [manager], columns: { ...columns, ...held } })
    equal = await createTeam(app, organization.id, {
      columns: { ...columns, manage_run_tasks: true, manage_teams: true, manage_membership: true },
    })
    strong = await createTeam(app, organization.id, {
      columns: { ...columns, manage_run_tasks: true, manage_workspaces: true, manage_agent_pools: true },
    })
  })
  const send = (path: string, body: unknown) =>
    app.request({ method: 'POST', url: `/api/v2/${path}`, token: manager.token, body })
  const invite = (email: string, team: string) =>
    send(`organizations/${organization.name}/organization-memberships`, {
      data: {
        type: 'organization-memberships',
        attributes: { email },
        relationships: { teams: { data: [{ type: 'teams', id: team }] } },
      },
    })
  const membershipOf = async (user: TestUser) =>
    (await app.request({ url: '/api/v2/organization-memberships', token: user.token })).json().data[0].id
  const join = async (team: string) =>
    send(`teams/${team}/relationships/organization-memberships`, {
      data: [{ type: 'organization-memberships', id: await membershipOf(colleague) }],
    })
  const named = { data: { type: 'authentication-tokens', attributes: { description: 'named' } } }

  test('gets no members and no tokens from the caller', async () => {
    const refused = [
      await users('POST', strong, [manager.username], manager.token),
      await join(strong),
      await invite('friend@example.com', strong),
      await send(`teams/${strong}/authentication-token`, {}),
      await send(`teams/${strong}/authentication-tokens`, named),
    ]

    for (const response of refused) {
      expect(response.status).toBe(403)
      expect(response.json().errors[0].detail).toMatch(/manage-workspaces, manage-agent-pools$/)
    }
  })

  test("can't be changed, including its SSO id, and can't get access that the caller lacks", async () => {
    const grant = { 'organization-access': { 'manage-workspaces': true } }

    const [group, less] = [
      await update(strong, { 'sso-team-id': 'my-group' }, manager.token),
      await update(strong, { 'organization-access': { 'manage-workspaces': false } }, manager.token),
    ]
    const [granted, made] = [
      await update(equal, grant, manager.token),
      await create({ name: 'too-strong', ...grant }, manager.token),
    ]

    expect([group.status, less.status, granted.status, made.status]).toEqual([403, 403, 403, 403])
    expect(made.json().errors[0].detail).toContain('manage-workspaces')
  })

  test('shows missing permissions, and allows removing members', async () => {
    await users('POST', strong, [colleague.username])

    const { permissions } = (await show(strong, manager.token)).json().data.attributes
    const removed = await users('DELETE', strong, [colleague.username], manager.token)

    expect(permissions).toMatchObject({
      'can-update-membership': false,
      'can-update-api-token': false,
      'can-update-organization-access': false,
      'can-update-sso-team-id': false,
    })
    expect(removed.status).toBe(204)
  })

  test('keeps its name, SSO id and access when the caller changes other settings', async () => {
    const { name } = (await show(strong)).json().data.attributes
    const unchanged = { name, 'sso-team-id': null, 'organization-access': { 'manage-workspaces': true } }
    const settings = { description: 'On call', 'allow-member-token-management': false }

    const [alone, repeated] = [
      await update(strong, settings, manager.token),
      await update(strong, { ...unchanged, ...settings, visibility: 'organization' }, manager.token),
    ]

    expect([alone.status, repeated.status]).toEqual([200, 200])
    expect((await update(strong, { ...unchanged, name: `${name}-x` }, manager.token)).status).toBe(403)
  })

  test('is distinguished from one with equal or less access', async () => {
    const passed = [
      await users('POST', equal, [colleague.username], manager.token),
      await join(equal),
      await send(`teams/${equal}/authentication-token`, {}),
      await send(`teams/${equal}/authentication-tokens`, named),
      await invite('colleague@example.com', equal),
      await update(equal, { 'organization-access': { 'manage-teams': false } }, manager.token),
      await create({ name: 'as-strong', 'organization-access': { 'manage-run-tasks': true } }, manager.token),
    ]

    expect(passed.map((response) => response.status)).toEqual([204, 204, 201, 201, 201, 200, 201])
  })
})

describe('a team with access to projects and workspaces', () => {
  let manager: TestUser
  let projectId: string
  let workspaceId: string
  let otherId: string
  beforeAll(async () => {
    manager = await createUser(app)
    const inOrganization = { organization: organization.name, actor: owner.actor }
    projectId = (await createProject(app, inOrganization)).id
    workspaceId = (await createWorkspace(app, { ...inOrganization, projectId, name: 'production' })).id
    otherId = (await createWorkspace(app, { ...inOrganization, name: 'confidential' })).id
    await createTeamWithAccess(app, {
      members: [manager],
      organizationId: organization.id,
      organization: { manage_teams: true, access_secret_teams: true },
      projects: { [projectId]: 'write' },
    })
    await addMember(app, organization.id, manager)
  })
  type Access = Partial<Parameters<typeof createTeamWithAccess>[1]>
  const teamWith = (access: Access) =>
    createTeamWithAccess(app, { members: [], organizationId: organization.id, ...access })
  const send = (path: string, body: unknown, token = manager.token) =>
    app.request({ method: 'POST', url: `/api/v2/${path}`, token, body })
  const invite = (email: string, ids: readonly string[]) => {
    const relationships = { teams: { data: ids.map((id) => ({ type: 'teams', id })) } }
    return send(`organizations/${organization.name}/organization-memberships`, {
      data: { type: 'organization-memberships', attributes: { email }, relationships },
    })
  }
  const attempts = async (id: string, name: string) => {
    return [
      await users('POST', id, [manager.username], manager.token),
      await invite(`${name}@example.com`, [id]),
      await send(`teams/${id}/authentication-token`, {}),
      await send(`teams/${id}/authentication-tokens`, {
        data: { type: 'authentication-tokens', attributes: { description: name } },
      }),
      await update(id, { 'sso-team-id': `${name}-group` }, manager.token),
      await update(id, { name: `${name}-group` }, manager.token),
    ]
  }

  test.each([
    ['admin of a project', () => ({ projects: { [projectId]: 'admin' as const } }), /on the project project-\d+$/],
    ['maintainer of a project', () => ({ projects: { [projectId]: 'maintain' as const } }), /on the project/],
    [
      'admin of a workspace',
      () => ({ workspaces: { [workspaceId]: 'admin' as const } }),
      /on the workspace production$/,
    ],
    [
      'reader of an invisible workspace',
      () => ({ workspaces: { [otherId]: 'read' as const } }),
      /on a workspace that you may not see$/,
    ],
  ])('gives a manager of teams nothing: %s', async (name, access, detail) => {
    const id = await teamWith(access())

    for (const response of await attempts(id, name.replaceAll(' ', '-'))) {
      expect(response.status).toBe(403)
      expect(response.json().errors[0].detail).toMatch(detail)
    }
  })

  test('is managed by those who have that access', async () => {
    const equal = await teamWith({ projects: { [projectId]: 'write' }, workspaces: { [workspaceId]: 'write' } })

    const responses = await attempts(equal, 'equal')

    expect(responses.map((response) => response.status)).toEqual([204, 201, 201, 201, 200, 200])
  })

  test.each([
    ['read', 204],
    ['write', 204],
    ['maintain', 204],
    ['admin', 403],
  ] as const)(
    'with the level %s on a project is managed by those who manage all workspaces: %i',
    async (level, status) => {
      const everywhere = await createUser(app)
      const all = { manage_teams: true, access_secret_teams: true, manage_workspaces: true }
      await createTeam(app, organization.id, { members: [everywhere], columns: all })
      const id = await teamWith({ projects: { [projectId]: level } })

      expect((await users('POST', id, [everywhere.username], everywhere.token)).status).toBe(status)
    },
  )

  test('blocks an invitation into several teams, of which another has less access', async () => {
    const equal = await teamWith({ projects: { [projectId]: 'read' }, workspaces: { [workspaceId]: 'plan' } })
    const strong = await teamWith({ projects: { [projectId]: 'write' }, workspaces: { [workspaceId]: 'admin' } })

    const response = await invite('several@example.com', [equal, strong])

    expect(response.status).toBe(403)
    const { name } = (await show(strong)).json().data.attributes
    expect(response.json().errors[0].detail).toBe(
      `the team ${name} has more access than you on the workspace production`,
    )
  })

  test('is managed by owners, the organization token and managers of projects', async () => {
    const { text } = await createOrganizationToken(app.as(owner.actor), organization.name, { kind: 'organization' })
    const all = { manage_teams: true, access_secret_teams: true, manage_projects: true, manage_workspaces: true }
    const everywhere = await createUser(app)
    await createTeam(app, organization.id, { members: [everywhere], columns: all })
    const id = await teamWith({ projects: { [projectId]: 'admin' }, workspaces: { [otherId]: 'admin' } })

    for (const token of [owner.token, text, everywhere.token]) {
      expect((await users('POST', id, [member.username], token)).status).toBe(204)
      expect((await send(`teams/${id}/authentication-token`, {}, token)).status).toBe(201)
    }
  })

  test('gives its own members tokens', async () => {
    const colleague = await createUser(app)
    const id = await teamWith({ members: [colleague], workspaces: { [otherId]: 'admin' } })

    expect((await send(`teams/${id}/authentication-token`, {}, colleague.token)).status).toBe(201)
  })
})

describe('permission to manage teams', () => {
  test('is denied to a member without it, who only sees visible teams', async () => {
    const id = await createTeam(app, organization.id, { columns: { visibility: 'organization' } })

    expect((await create({ name: 'x' }, member.token)).status).toBe(403)
    expect((await update(id, { name: 'y' }, member.token)).status).toBe(403)
    expect((await remove(id, member.token)).status).toBe(403)
    expect((await users('POST', id, [member.username], member.token)).status).toBe(403)
    expect((await show(id, outsider.token)).status).toBe(404)
  })

  test('is granted to managers of teams, except for organization access', async () => {
    const manager = await createUser(app)
    await createTeam(app, organization.id, { members: [manager], columns: { manage_teams: true } })
    const id = await createTeam(app, organization.id, { columns: { visibility: 'organization' } })
    const grant = { 'organization-access': { 'manage-workspaces': true } }

    expect((await create({ name: 'by-manager' }, manager.token)).status).toBe(201)
    expect((await create({ name: 'by-manager-2', ...grant }, manager.token)).status).toBe(403)
    expect((await update(id, grant, manager.token)).status).toBe(403)
    expect(
      (await update(id, { name: 'renamed', 'organization-access': { 'manage-workspaces': false } }, manager.token))
        .status,
    ).toBe(200)
  })
})
