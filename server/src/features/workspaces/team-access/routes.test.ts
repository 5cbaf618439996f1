import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import {
  createOrganization,
  createProject,
  createUser,
  createWorkspace,
  type TestUser,
} from '../../../testing/factories.ts'
import { createTeam } from '../../../testing/teams.ts'

let app: TestApp
let owner: TestUser
let member: TestUser
let organization: { id: string; name: string }
let workspaceId: string
let projectId: string
let teamId: string
beforeAll(async () => {
  app = await createTestApp()
  ;[owner, member] = [await createUser(app), await createUser(app)]
  organization = await createOrganization(app, owner)
  projectId = (await createProject(app, { organization: organization.name, actor: owner.actor })).id
  workspaceId = (
    await createWorkspace(app, { organization: organization.name, actor: owner.actor, projectId, name: 'shared' })
  ).id
  teamId = await createTeam(app, organization.id, { members: [member], columns: { visibility: 'organization' } })
})

type Kind = 'workspace' | 'project'
const path = (kind: Kind) => `/api/v2/team-${kind}s`
const grant = (
  kind: Kind,
  attributes: Record<string, unknown>,
  { team = teamId, token = owner.token, id = kind === 'workspace' ? workspaceId : projectId } = {},
) =>
  app.request({
    method: 'POST',
    url: path(kind),
    token,
    body: {
      data: {
        type: `team-${kind}s`,
        attributes,
        relationships: { team: { data: { type: 'teams', id: team } }, [kind]: { data: { type: `${kind}s`, id } } },
      },
    },
  })
const change = (kind: Kind, id: string, attributes: Record<string, unknown>, token = owner.token) =>
  app.request({
    method: 'PATCH',
    url: `${path(kind)}/${id}`,
    token,
    body: { data: { type: `team-${kind}s`, attributes } },
  })
const show = (kind: Kind, id: string, token = owner.token) => app.request({ url: `${path(kind)}/${id}`, token })
const remove = (kind: Kind, id: string, token = owner.token) =>
  app.request({ method: 'DELETE', url: `${path(kind)}/${id}`, token })
const list = (kind: Kind, query: string, token = owner.token) =>
  app.request({
    url: `${path(kind)}?filter[${kind}][id]=${kind === 'workspace' ? workspaceId : projectId}${query}`,
    token,
  })
const workspaceStatus = async (token: string) =>
  (await app.request({ url: `/api/v2/workspaces/${workspaceId}`, token })).status

describe.each<Kind>(['workspace', 'project'])('access to a %s', (kind) => {
  test('is granted, shown, changed and removed, with effect on the next request', async () => {
    const before = await workspaceStatus(member.token)
    const created = await grant(kind, { access: 'read' })
    const { id } = created.json().data
    const during = await workspaceStatus(member.token)
    const changed = await change(kind, id, { access: 'write' })
    const removed = await remove(kind, id)

    expect([before, created.status, during, changed.status, removed.status]).toEqual([404, 201, 200, 200, 204])
    expect(created.json().data.relationships).toMatchObject({
      team: { data: { id: teamId } },
      [kind]: { data: { id: kind === 'workspace' ? workspaceId : projectId } },
    })
    expect(await workspaceStatus(member.token)).toBe(404)
    expect((await show(kind, id)).status).toBe(404)
  })

  test('is granted to a team once', async () => {
    const { id } = (await grant(kind, { access: 'read' })).json().data

    const double = await grant(kind, { access: 'admin' })
    await remove(kind, id)

    expect([double.status, double.json().errors[0].detail]).toEqual([422, `Team has already been added to the ${kind}`])
  })

  test('is listed completely for administrators, and for their own teams to others', async () => {
    const other = await createTeam(app, organization.id, { columns: { visibility: 'organization' } })
    const mine = (await grant(kind, { access: 'read' })).json().data.id
    const theirs = (await grant(kind, { access: 'admin' }, { team: other })).json().data.id
    const ids = async (token: string, query = '') =>
      (await list(kind, query, token)).json().data.map((row: any) => row.id)

    expect(await ids(owner.token)).toEqual([mine, theirs])
    expect(await ids(member.token)).toEqual([mine])
    expect(await ids(owner.token, `&filter[team][id]=${other}`)).toEqual([theirs])
    expect(await ids(owner.token, '&page[size]=1&page[number]=2')).toEqual([theirs])
    expect((await show(kind, theirs, member.token)).status).toBe(404)
    expect((await show(kind, mine, member.token)).status).toBe(200)
    expect((await change(kind, mine, { access: 'admin' }, member.token)).status).toBe(403)
    expect((await remove(kind, mine, member.token)).status).toBe(403)
    for (const id of [mine, theirs]) await remove(kind, id)
    expect((await app.request({ url: path(kind), token: owner.token })).status).toBe(422)
    expect((await list(kind, '', member.token)).status).toBe(404)
  })

  test('needs a visible team of the same organization', async () => {
    const elsewhere = await createOrganization(app, owner)
    const foreign = await createTeam(app, elsewhere.id)

    expect((await grant(kind, { access: 'read' }, { team: foreign })).status).toBe(404)
    expect((await grant(kind, { access: 'read' }, { team: 'team-unknown' })).status).toBe(404)
    expect((await grant(kind, { access: 'read' }, { id: `${kind}-unknown` })).status).toBe(404)
  })
})

describe('levels', () => {
  test('a fixed level shows its parts and rejects changes of single ones', async () => {
    const refused = await grant('workspace', { access: 'read', runs: 'apply' })
    const { id, attributes } = (await grant('workspace', { access: 'admin' })).json().data
    await remove('workspace', id)

    expect(refused.status).toBe(422)
    expect(refused.json().errors[0]).toMatchObject({
      title: 'invalid attribute',
      detail: "Runs is read-only when access level is 'read'; use the 'custom' access level to set this attribute.",
      source: { pointer: '/data/attributes/runs' },
    })
    expect(attributes).toMatchObject({
      runs: 'apply',
      variables: 'write',
      'state-versions': 'write',
      'sentinel-mocks': 'read',
      'workspace-locking': true,
    })
  })

  test('custom access starts with the minimum, or with the parts of the previous level', async () => {
    const { id, attributes } = (await grant('workspace', { access: 'custom', runs: 'plan' })).json().data
    await change('workspace', id, { access: 'write' })
    const changed = (await change('workspace', id, { access: 'custom', variables: 'none' })).json().data
    await remove('workspace', id)

    expect(attributes).toMatchObject({ runs: 'plan', variables: 'none', 'state-versions': 'none' })
    expect(changed.attributes).toMatchObject({ access: 'custom', runs: 'apply', variables: 'none' })
  })

  test('a project level determines project and workspace access', async () => {
    const { id, attributes } = (await grant('project', { access: 'maintain' })).json().data
    const refused = await change('project', id, { 'project-access': { settings: 'delete' } })
    const custom = await change('project', id, { access: 'custom', 'workspace-access': { move: true } })
    await remove('project', id)

    expect(attributes).toMatchObject({
      'project-access': { settings: 'read', teams: 'none' },
      'workspace-access': { create: true, move: false, delete: true, runs: 'apply', 'run-tasks': true },
    })
    expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/project-access/settings')
    expect(custom.json().data.attributes['workspace-access']).toMatchObject({ move: true, create: true })
  })

  test('the highest of the workspace, project and organization grants applies', async () => {
    const onWorkspace = (await grant('workspace', { access: 'read' })).json().data.id
    const onProject = (await grant('project', { access: 'custom', 'workspace-access': { locking: true } })).json().data
      .id
    const can = async () =>
      (await app.request({ url: `/api/v2/workspaces/${workspaceId}`, token: member.token })).json().data.attributes
        .permissions

    const both = await can()
    await remove('project', onProject)
    const one = await can()
    await remove('workspace', onWorkspace)

    expect(both).toMatchObject({ 'can-lock': true, 'can-read-variable': true, 'can-queue-run': false })
    expect(one).toMatchObject({ 'can-lock': false, 'can-read-variable': true })
  })
})

describe('custom access to the teams of a project', () => {
  const parts = { 'project-access': { settings: 'update', teams: 'manage' }, 'workspace-access': { runs: 'plan' } }

  test('manages access up to its own', async () => {
    const manager = await createUser(app)
    const [own, other] = [
      await createTeam(app, organization.id, { members: [manager] }),
      await createTeam(app, organization.id, { columns: { visibility: 'organization' } }),
    ]
    const held = (await grant('project', { access: 'custom', ...parts }, { team: own })).json().data
    const { token } = manager

    const refused = [
      await change('project', held.id, { access: 'admin' }, token),
      await change('project', held.id, { 'workspace-access': { runs: 'apply' } }, token),
      await grant('project', { access: 'maintain' }, { team: other, token }),
    ]
    const created = await grant('project', { access: 'custom', ...parts }, { team: other, token })
    const reduced = await change('project', created.json().data.id, { 'workspace-access': { runs: 'read' } }, token)

    expect(refused.map((response) => response.status)).toEqual([403, 403, 403])
    expect(refused[0]?.json().errors[0].detail).toContain('more access to the project than you have')
    expect([created.status, reduced.status]).toEqual([201, 200])
    expect((await remove('project', created.json().data.id, token)).status).toBe(204)
  })

  test('does not limit administrators of the workspace or project', async () => {
    const admin = await createUser(app)
    const team = await createTeam(app, organization.id, { members: [admin] })
    const fresh = await createProject(app, { organization: organization.name, actor: owner.actor })
    const workspace = await createWorkspace(app, { organization: organization.name, projectId: fresh.id })
    await grant('project', { access: 'admin' }, { team, id: fresh.id })
    const options = { token: admin.token, team: teamId }

    expect((await grant('project', { access: 'admin' }, { ...options, id: fresh.id })).status).toBe(201)
    expect((await grant('workspace', { access: 'admin' }, { ...options, id: workspace.id })).status).toBe(201)
  })
})

describe.each<Kind>(['workspace', 'project'])('the access of teams to each %s', (kind) => {
  const of = async (filter: string, token: string, query = '') => {
    const response = await app.request({ url: `${path(kind)}?${filter}&include=team,${kind}${query}`, token })
    const { data, included, meta } = response.json()
    const names = new Map(included?.map((resource: any) => [resource.id, resource.attributes.name]))
    const rows = data?.map(({ attributes, relationships }: any) => [
      names.get(relationships[kind].data.id),
      attributes.access,
      relationships.team.data.id,
    ])
    return { status: response.status, rows, total: meta?.pagination['total-count'] }
  }
  const inOrganization = async () => {
    const [boss, user, outsider] = [await createUser(app), await createUser(app), await createUser(app)]
    const { id, name } = await createOrganization(app, boss)
    const subject = async (name: string) => {
      const project = await createProject(app, { organization, actor: boss.actor, name: `${name}-project` })
      if (kind === 'project') return project.id
      return (await createWorkspace(app, { organization, actor: boss.actor, projectId: project.id, name })).id
    }
    const organization = name
    return { id, boss, user, outsider, organization, first: await subject('first'), second: await subject('second') }
  }
  const named = (name: string) => (kind === 'project' ? `${name}-project` : name)

  test('is listed by team and by membership, by name, with search and pages', async () => {
    const { id, boss, user, first, second, organization } = await inOrganization()
    const [team, other] = [await createTeam(app, id, { members: [user] }), await createTeam(app, id)]
    await grant(kind, { access: 'write' }, { team, id: second, token: boss.token })
    await grant(kind, { access: 'read' }, { team, id: first, token: boss.token })
    await grant(kind, { access: 'read' }, { team: other, id: first, token: boss.token })
    const memberships = await app.request({
      url: `/api/v2/organizations/${organization}/organization-memberships?filter[team][id]=${team}`,
      token: boss.token,
    })
    const membership = memberships.json().data[0].id

    const expected = [
      [named('first'), 'read', team],
      [named('second'), 'write', team],
    ]
    expect(await of(`filter[team][id]=${team}`, boss.token)).toEqual({ status: 200, rows: expected, total: 2 })
    for (const { token } of [boss, user])
      expect((await of(`filter[organization-membership][id]=${membership}`, token)).rows).toEqual(expected)
    expect(await of(`filter[team][id]=${team}`, boss.token, '&page[size]=1&page[number]=2')).toMatchObject({
      rows: [expected[1]],
      total: 2,
    })
    expect((await of(`filter[team][id]=${team}`, boss.token, '&q=SEC')).rows).toEqual([expected[1]])
  })

  test('shows others only what they would see there', async () => {
    const { id, boss, user, outsider, first, second } = await inOrganization()
    const team = await createTeam(app, id, { columns: { visibility: 'organization' } })
    const secret = await createTeam(app, id)
    const mine = await createTeam(app, id, { members: [user] })
    await grant(kind, { access: 'read' }, { team, id: first, token: boss.token })
    await grant(kind, { access: 'read' }, { team, id: second, token: boss.token })
    await grant(kind, { access: 'read' }, { team: mine, id: second, token: boss.token })
    const before = await of(`filter[team][id]=${team}`, user.token)
    await grant(kind, { access: 'admin' }, { team: mine, id: first, token: boss.token })

    expect(before).toEqual({ status: 200, rows: [], total: 0 })
    expect((await of(`filter[team][id]=${team}`, user.token)).rows).toEqual([[named('first'), 'read', team]])
    expect((await of(`filter[team][id]=${secret}`, user.token)).status).toBe(404)
    expect((await of(`filter[team][id]=${team}`, outsider.token)).status).toBe(404)
  })

  test('needs a subject, a team or a membership', async () => {
    const response = await app.request({ url: path(kind), token: owner.token })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toBe(
      `filter[${kind}][id] is missing: the id of a ${kind}, or of a team in filter[team][id]`,
    )
  })

  test('of an invited person is that of their future teams', async () => {
    const { id, boss, first, organization } = await inOrganization()
    const team = await createTeam(app, id)
    await grant(kind, { access: 'read' }, { team, id: first, token: boss.token })
    const invited = await app.request({
      method: 'POST',
      url: `/api/v2/organizations/${organization}/organization-memberships`,
      token: boss.token,
      body: {
        data: {
          type: 'organization-memberships',
          attributes: { email: 'future@example.com' },
          relationships: { teams: { data: [{ type: 'teams', id: team }] } },
        },
      },
    })

    const { rows } = await of(`filter[organization-membership][id]=${invited.json().data.id}`, boss.token)
    expect(rows).toEqual([[named('first'), 'read', team]])
  })
})
