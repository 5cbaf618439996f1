import { sql } from 'kysely'
import { expect, test, vi } from 'vitest'
import { transact } from '../../../db/db.ts'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createBrowser } from '../../../testing/browser.ts'
import {
  type TestUser,
  createOrganization,
  createProject,
  createUser,
  createWorkspace,
} from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createReplica } from '../../../testing/replica.ts'
import { createRun, createRunSetting } from '../../../testing/runs.ts'
import { allSignals } from '../../../testing/signals.ts'
import { addMember } from '../../../testing/teams.ts'
import { endSessions } from '../../identity/sessions/service.ts'
import { deleteWorkspace } from '../../runs/workspace-deletion/service.ts'
import { createWorkspaceVariable } from '../../workspaces/variables/service.ts'
import { updateWorkspace } from '../../workspaces/workspaces/service.ts'
import { type Watch, watch as watchAtOnce } from './testing/watch.ts'

const app = await createTestApp()
const url = await app.listen()
const replica = await createReplica(app)
const replicaUrl = await replica.fastify.listen({ host: '127.0.0.1', port: 0 })

async function setting() {
  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: organization.name, actor: owner.actor })
  return { owner, organization, workspace }
}

/** Opens a stream once all earlier changes were announced, so that it reports only later ones. */
async function watch(...stream: Parameters<typeof watchAtOnce>) {
  await allSignals(app)
  return watchAtOnce(...stream)
}

async function describe(id: string, description: string) {
  await updateWorkspace(
    app.as(),
    { id },
    { input: { type: 'workspaces', attributes: { description }, relationships: {} } },
  )
}

async function removeAccess(owner: TestUser, workspaceId: string) {
  const query = `filter[workspace][id]=${workspaceId}`
  const { data } = (await app.request({ url: `/api/v2/team-workspaces?${query}`, token: owner.token })).json()
  await app.request({ method: 'DELETE', url: `/api/v2/team-workspaces/${data[0].id}`, token: owner.token })
}

async function addAccess(owner: TestUser, { teamId, workspaceId }: { teamId: string; workspaceId: string }) {
  const relationships = {
    team: { data: { type: 'teams', id: teamId } },
    workspace: { data: { type: 'workspaces', id: workspaceId } },
  }
  const body = { data: { type: 'team-workspaces', attributes: { access: 'read' }, relationships } }
  await app.request({ method: 'POST', url: '/api/v2/team-workspaces', token: owner.token, body })
}

function ids({ changes }: Watch, type: string) {
  return changes.flatMap((change) => (change.type === type ? change.id : []))
}

const named = ({ events }: Watch) => events.map(({ event }) => event)

test('a stream starts with the headers and events that clients need, then sends changes', async () => {
  const { owner, organization, workspace } = await setting()

  const stream = await watch(url, organization.name, { token: owner.token })
  await expect.poll(() => named(stream)).toEqual(['ready'])
  await describe(workspace.id, 'new')
  await expect.poll(() => stream.changes).toEqual([{ type: 'workspaces', id: workspace.id, workspace: workspace.id }])

  const { 'content-type': type, 'cache-control': cache, 'x-accel-buffering': buffering } = stream.headers
  expect([stream.status, type, cache, buffering]).toEqual([200, 'text/event-stream', 'no-store', 'no'])
  expect(stream.others).toEqual(['retry: 2000'])
  expect(stream.events.every(({ id }) => id !== undefined)).toBe(true)
})

test('changes on one replica are sent by all replicas', async () => {
  const { owner, organization, workspace } = await setting()
  const stream = await watch(replicaUrl, organization.name, { token: owner.token })
  await expect.poll(() => named(stream)).toEqual(['ready'])

  await describe(workspace.id, 'new')

  await expect.poll(() => ids(stream, 'workspaces')).toEqual([workspace.id])
})

test('a run is announced from its creation to its end, with its log', async () => {
  const run = await createRunSetting(app)
  const stream = await watch(url, run.organization, { token: run.user.token })
  await expect.poll(() => named(stream)).toEqual(['ready'])

  const id = await createRun(app, run)
  await expect.poll(() => ids(stream, 'runs')).toContain(id)
  const job = await (await createFakeAgent(app)).take()
  await job.log('a line\n')
  await expect.poll(() => stream.changes.find(({ type }) => type === 'logs')).toMatchObject({ run: id })
  const before = stream.changes.length
  await job.finish({ hasChanges: false })

  await expect.poll(() => ids({ ...stream, changes: stream.changes.slice(before) }, 'runs')).toContain(id)
})

test('after a reconnect, any replica sends the changes since the disconnect, and no earlier ones', async () => {
  const { owner, organization, workspace } = await setting()
  const [missed, old] = [await addWorkspace(), workspace]
  const [first, witness] = [await open(url), await open(replicaUrl)]
  await describe(old.id, 'new')
  await expect.poll(() => [first, witness].map((stream) => ids(stream, 'workspaces'))).toEqual([[old.id], [old.id]])
  await first.leave()
  await describe(missed.id, 'new')
  await expect.poll(() => ids(witness, 'workspaces')).toEqual([old.id, missed.id])

  const resumed = await Promise.all([url, replicaUrl].map(async (at) => open(at, first.cursor)))

  await expect.poll(() => resumed.map((stream) => ids(stream, 'workspaces').at(-1))).toEqual([missed.id, missed.id])
  expect(resumed.flatMap(named)).not.toContain('reset')

  async function addWorkspace() {
    return createWorkspace(app, { organization: organization.name, actor: owner.actor })
  }
  async function open(at: string, after?: string) {
    return watch(at, organization.name, { token: owner.token, after })
  }
})

test('a client that is disconnected repeatedly, at any moment, misses nothing', async () => {
  const { owner, organization } = await setting()
  const place = { organization: organization.name, actor: owner.actor }
  const workspaces = await Promise.all(Array.from({ length: 30 }, async () => createWorkspace(app, place)))
  const seen = new Set<string>()
  const changed = new Set<string>()
  let cursor: string | undefined

  for (const [index, { id }] of workspaces.entries()) {
    const stream = await watch([url, replicaUrl][index % 2] ?? url, organization.name, {
      token: owner.token,
      after: cursor,
    })
    await vi.waitFor(() => index > 0 || named(stream)[0] === 'ready' || Promise.reject(new Error('it is not ready')))
    await describe(id, 'new')
    changed.add(id)
    await vi.waitFor(() => index % 3 > 0 || stream.events.length > 0 || Promise.reject(new Error('no change arrived')))
    await stream.leave()
    take(stream)
  }
  const last = await watch(url, organization.name, { token: owner.token, after: cursor })

  await expect.poll(() => [...take(last)].toSorted()).toEqual([...changed].toSorted())

  /** A client that refetches everything after a reset. */
  function take(stream: Watch) {
    for (const id of named(stream).includes('reset') ? changed : ids(stream, 'workspaces')) seen.add(id)
    cursor = stream.cursor
    return seen
  }
})

test('an unknown cursor causes a reset', async () => {
  const { owner, organization } = await setting()

  const stream = await watch(url, organization.name, { token: owner.token, headers: { 'last-event-id': 'of yore' } })

  await expect.poll(() => named(stream)).toEqual(['ready', 'reset'])
})

test('more changes than a client should fetch one by one cause a reset', async () => {
  const { owner, organization, workspace } = await setting()
  const first = await watch(url, organization.name, { token: owner.token })
  await expect.poll(() => named(first)).toEqual(['ready'])
  await first.leave()
  const changes = Array.from({ length: 600 }, (_, index) => ({ key: `key_${index}`, category: 'env' as const }))
  await transact(app.as(), async (ctx) => {
    for (const input of changes) await createWorkspaceVariable(ctx, workspace.id, input)
  })
  const reference = await watch(url, organization.name, { token: owner.token })
  await expect.poll(() => reference.cursor).not.toBe(first.cursor)

  const stream = await watch(url, organization.name, { token: owner.token, after: first.cursor })

  await expect.poll(() => named(stream)).toEqual(['ready', 'reset'])
})

test('when signals may have been lost, every stream is reset', async () => {
  const { owner, organization, workspace } = await setting()
  const stream = await watch(url, organization.name, { token: owner.token })
  await expect.poll(() => named(stream)).toEqual(['ready'])

  await sql`select pg_terminate_backend(pid) from pg_stat_activity
             where application_name like 'groundstate-signals %' and datname = current_database()`.execute(app.db)
  await expect.poll(() => named(stream).slice(0, 2), { timeout: 5000 }).toEqual(['ready', 'reset'])

  // Both servers lost their connections, so more resets may follow, each of which replaces earlier changes.
  const change = async () => {
    await describe(workspace.id, `at ${performance.now()}`)
    return ids(stream, 'workspaces')
  }
  await expect.poll(change, { timeout: 5000 }).toContain(workspace.id)
})

test('a member is notified of changes that it may read, and of no others', async () => {
  const { owner, organization, workspace: hidden } = await setting()
  const project = await createProject(app, { organization: organization.name, actor: owner.actor })
  const place = { organization: organization.name, projectId: project.id }
  const workspace = await createWorkspace(app, { ...place, actor: owner.actor })
  const member = await createUser(app)
  await addMember(app, organization.id, member)
  const grants = { organizationId: organization.id, members: [member], projects: { [project.id]: 'read' as const } }
  await createTeamWithAccess(app, grants)
  const stream = await watch(url, organization.name, { token: member.token })
  await expect.poll(() => named(stream)).toEqual(['ready'])

  await describe(hidden.id, 'new')
  await describe(workspace.id, 'new')
  await expect.poll(() => ids(stream, 'workspaces')).toEqual([workspace.id])
  await deleteWorkspace(app.as(), { id: hidden.id })
  await deleteWorkspace(app.as(), { id: workspace.id })

  await expect.poll(() => ids(stream, 'workspaces')).toEqual([workspace.id, workspace.id])
  expect(stream.events.some(({ data }) => data.includes(hidden.id))).toBe(false)
})

test('revoked access ends notifications to a member, and granted access starts them', async () => {
  const { owner, organization, workspace } = await setting()
  const other = await createWorkspace(app, { organization: organization.name, actor: owner.actor })
  const member = await createUser(app)
  await addMember(app, organization.id, member)
  const grants = { organizationId: organization.id, members: [member], workspaces: { [workspace.id]: 'read' as const } }
  const teamId = await createTeamWithAccess(app, grants)
  const stream = await watch(url, organization.name, { token: member.token })
  await describe(workspace.id, 'new')
  await expect.poll(() => ids(stream, 'workspaces')).toEqual([workspace.id])

  await removeAccess(owner, workspace.id)
  await addAccess(owner, { teamId, workspaceId: other.id })
  await expect.poll(() => named(stream), { timeout: 3000 }).toContain('reset')
  await describe(workspace.id, 'newer')
  await describe(other.id, 'new')

  await expect.poll(() => ids(stream, 'workspaces')).toEqual([workspace.id, other.id])
})

test('outsiders find no stream', async () => {
  const { organization } = await setting()
  const stranger = await createUser(app)

  const [known, unknown, anonymous] = await Promise.all([
    watch(url, organization.name, { token: stranger.token }),
    watch(url, 'nowhere', { token: stranger.token }),
    watch(url, organization.name, { token: 'bad' }),
  ])

  expect([known.status, unknown.status, anonymous.status]).toEqual([404, 404, 401])
})

test('a request that does not accept events is rejected', async () => {
  const { owner, organization } = await setting()

  const response = await app.request({ url: `/api/v2/organizations/${organization.name}/changes`, token: owner.token })

  expect([response.status, response.json().errors[0].detail]).toEqual([
    400,
    expect.stringContaining('text/event-stream'),
  ])
})

test('a session that ends ends its stream', async () => {
  const { owner, organization } = await setting()
  const { cookie } = await createBrowser(app, owner.id)
  const stream = await watch(url, organization.name, { headers: { cookie } })
  await expect.poll(() => named(stream)).toEqual(['ready'])

  await endSessions(app.as(), owner.id)

  await expect.poll(() => stream.isOver, { timeout: 3000 }).toBe(true)
  expect(stream.events.at(-1)).toEqual({ event: 'end', id: undefined, data: '{"reason":"signed-out"}' })
})

test('a revoked token ends its stream, and so does leaving the organization', async () => {
  const { organization } = await setting()
  const [revoked, leaving] = [await createUser(app), await createUser(app)]
  for (const user of [revoked, leaving]) await addMember(app, organization.id, user)
  const streams = await Promise.all(
    [revoked, leaving].map(async ({ token }) => watch(url, organization.name, { token })),
  )

  const token = await app.db
    .selectFrom('tokens')
    .select('id')
    .where('user_id', '=', revoked.id)
    .executeTakeFirstOrThrow()
  const membership = await app.db
    .selectFrom('organization_memberships')
    .select('id')
    .where('user_id', '=', leaving.id)
    .executeTakeFirstOrThrow()
  const remove = async (url: string, by: string) => app.request({ method: 'DELETE', url: `/api/v2${url}`, token: by })
  const removed = await Promise.all([
    remove(`/authentication-tokens/${token.id}`, revoked.token),
    remove(`/organization-memberships/${membership.id}`, leaving.token),
  ])

  expect(removed.map(({ status }) => status)).toEqual([204, 204])
  await expect.poll(() => streams.map(({ isOver }) => isOver), { timeout: 3000 }).toEqual([true, true])
  expect(streams.map((stream) => named(stream).at(-1))).toEqual(['end', 'end'])
})

test('a caller has twenty streams, and one more when one is closed', async () => {
  const { owner, organization } = await setting()
  const open = async () => watch(url, organization.name, { token: owner.token })
  const streams = await Promise.all(Array.from({ length: 20 }, open))

  const refused = await open()
  await streams[0]?.leave()

  expect(refused.status).toBe(429)
  await expect.poll(async () => (await open()).status).toBe(200)
})

test('a closing server ends its streams immediately', async () => {
  const { owner, organization } = await setting()
  const closing = await createReplica(app)
  const at = await closing.fastify.listen({ host: '127.0.0.1', port: 0 })
  const stream = await watch(at, organization.name, { token: owner.token })
  await expect.poll(() => named(stream)).toEqual(['ready'])
  const startedAt = performance.now()

  await closing.fastify.close()

  await expect.poll(() => stream.isOver).toBe(true)
  expect(performance.now() - startedAt).toBeLessThan(2000)
})
