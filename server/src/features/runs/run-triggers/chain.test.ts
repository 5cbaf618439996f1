import { afterEach, describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { type RunSetting, addWorkspace, createRun } from '../../../testing/runs.ts'
import { allSignals } from '../../../testing/signals.ts'
import { applyRun, connect, endJobs, finishRun, fire, readChain } from './testing/triggers.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const user = await createUser(app)
const acme = await createOrganization(app, user)
const add = async () =>
  addWorkspace(app, { user, organization: acme.name, attributes: { 'auto-apply-run-trigger': true } })

afterEach(async () => {
  await endJobs(agent)
})

/** network → dns → web, and network → db; all are applied. */
async function createChain() {
  const [network, dns, web, db] = [await add(), await add(), await add(), await add()]
  await connect(app, network, dns)
  await connect(app, dns, web)
  await connect(app, network, db)
  const root = await applyRun(app, agent, network)
  await fire(app)
  await finishRun(agent)
  await finishRun(agent)
  await fire(app)
  await finishRun(agent)
  return { network, dns, web, db, root }
}

function idIn(chain: any, workspace: { workspaceId: string }): string {
  return chain.runs.find((run: any) => run['workspace-id'] === workspace.workspaceId).id
}

test('the chain of the first run has all its consequences', async () => {
  const { network, dns, web, db, root } = await createChain()

  const chain = await readChain(app, user.token, root)

  const places = chain.runs.map((run: any) => `${run['workspace-name']} ${run.depth} ${run.status}`)
  expect(places[0]).toBe(`${network.workspaceName} 0 applied`)
  expect(places.slice(1, 3).toSorted()).toEqual(
    [`${dns.workspaceName} 1 applied`, `${db.workspaceName} 1 applied`].toSorted(),
  )
  expect(places[3]).toBe(`${web.workspaceName} 2 applied`)
  expect(chain.firings.map((firing: any) => [firing['source-run-id'], firing['run-id'], firing.status])).toEqual([
    [root, idIn(chain, dns), 'fired'],
    [root, idIn(chain, db), 'fired'],
    [idIn(chain, dns), idIn(chain, web), 'fired'],
  ])
  expect(chain.truncated).toBe(false)
})

test('a run whose chain loses the runs of a deleted workspace is announced', async () => {
  const { network, dns, root } = await createChain()
  await allSignals(app)
  const announced: string[] = []
  using _ = app.changes.listen(({ type, id, workspace }) => announced.push(`${type} ${id} ${workspace}`))

  await app.request({ method: 'DELETE', url: `/api/v2/workspaces/${dns.workspaceId}`, token: user.token })

  await allSignals(app)
  expect(announced).toContain(`runs ${root} ${network.workspaceId}`)
})

test('the chain of the last run has its causes, without their other consequences', async () => {
  const { dns, web, root } = await createChain()
  const last = idIn(await readChain(app, user.token, root), web)

  const chain = await readChain(app, user.token, last)

  expect(chain.runs.map(({ id }: any) => id)).toEqual([root, idIn(chain, dns), last])
  expect(chain.firings).toHaveLength(2)
})

test('a run with two causes has both in its chain', async () => {
  const [network, dns, web] = [await add(), await add(), await add()]
  await connect(app, network, web)
  await connect(app, dns, web)
  const causes = [await applyRun(app, agent, network), await applyRun(app, agent, dns)]
  await fire(app)
  const run = (await agent.take()).runId

  const chain = await readChain(app, user.token, run)

  expect(chain.runs.map(({ id }: any) => id)).toEqual([...causes, run])
  expect(chain.firings.map((firing: any) => firing['run-id'])).toEqual([run, run])
})

test('a waiting firing shows when it fires', async () => {
  const [network, web] = [await add(), await add()]
  await connect(app, network, web)
  const run = await applyRun(app, agent, network)

  const { runs, firings } = await readChain(app, user.token, run)

  expect(runs).toHaveLength(1)
  expect(firings).toMatchObject([
    { status: 'waiting', 'run-id': null, 'workspace-name': web.workspaceName, 'decided-at': null, reason: null },
  ])
  const delay = Date.parse(firings[0]['fires-at']) - Date.parse(firings[0]['created-at'])
  expect(delay).toBe(app.config.triggerDelay)
  await fire(app)
})

test('a run that was not triggered, and that triggers nothing, is a separate chain', async () => {
  const run = await createRun(app, await add())

  const chain = await readChain(app, user.token, run)

  expect(chain).toMatchObject({ runs: [{ id: run, depth: 0, 'is-readable': true }], firings: [], truncated: false })
})

test('runs that the caller may not read are in the chain without a name', async () => {
  const { network, dns, db, web, root } = await createChain()
  const reader = await createUser(app)
  await createTeamWithAccess(app, {
    organizationId: acme.id,
    members: [reader],
    workspaces: { [network.workspaceId]: 'read', [web.workspaceId]: 'read' },
  })

  const response = await app.request({ url: `/api/v2/runs/${root}/trigger-chain`, token: reader.token })

  const chain = response.json().data.attributes
  expect(chain.runs.map((run: any) => run['workspace-name'])).toEqual([
    network.workspaceName,
    null,
    null,
    web.workspaceName,
  ])
  expect(chain.runs[1]).toEqual({
    id: expect.stringMatching(/^run-/),
    depth: 1,
    'is-readable': false,
    'workspace-id': null,
    'workspace-name': null,
    status: null,
    message: null,
    'created-at': null,
    'updated-at': null,
  })
  expect(chain.firings).toHaveLength(3)
  for (const hidden of [dns, db]) expect(JSON.stringify(chain.firings)).not.toContain(hidden.workspaceName)
})

test('a chain whose middle was deleted has the remaining links', async () => {
  const { dns, root } = await createChain()
  await app.request({ method: 'DELETE', url: `/api/v2/workspaces/${dns.workspaceId}`, token: user.token })

  const chain = await readChain(app, user.token, root)

  expect(chain.runs).toHaveLength(2)
  expect(chain.firings[0]).toMatchObject({ status: 'fired', 'run-id': null, 'workspace-name': null })
})

describe('the dependency graph', () => {
  const readGraph = async (token: string, organization = acme.name) =>
    (await app.request({ url: `/api/v2/organizations/${organization}/dependency-graph`, token })).json().data.attributes

  test('has the workspaces with run triggers, their state and the triggers, and marks cycles', async () => {
    const { name: organization } = await createOrganization(app, user)
    const [network, dns, web] = [
      await addWorkspace(app, { user, organization }),
      await addWorkspace(app, { user, organization, attributes: { 'trigger-only-on-output-change': true } }),
      await addWorkspace(app, { user, organization }),
    ]
    await addWorkspace(app, { user, organization })
    const triggers = [await connect(app, network, dns), await connect(app, dns, web), await connect(app, web, dns)]
    const run = await createRun(app, web)

    const graph = await readGraph(user.token, organization)

    const nodes = [network, dns, web].map(({ workspaceId }) =>
      graph.workspaces.find(({ id }: any) => id === workspaceId),
    )
    expect(graph.workspaces).toHaveLength(3)
    expect(nodes.map(({ cycle }) => cycle)).toEqual([null, 1, 1])
    expect(nodes[0]).toEqual({
      id: network.workspaceId,
      name: network.workspaceName,
      'project-id': expect.stringMatching(/^prj-/),
      'project-name': 'Default Project',
      'auto-apply-run-trigger': false,
      'trigger-only-on-output-change': false,
      locked: false,
      'latest-change-at': expect.any(String),
      'current-run': null,
      cycle: null,
    })
    expect(nodes[1]['trigger-only-on-output-change']).toBe(true)
    expect(nodes[2]).toMatchObject({ 'current-run': { id: run, status: 'plan_queued' }, locked: true })
    const edge = (index: number, source: RunSetting, destination: RunSetting) => ({
      id: triggers[index],
      'workspace-id': destination.workspaceId,
      'sourceable-id': source.workspaceId,
      'last-fired-at': null,
    })
    expect(graph.triggers).toEqual([
      { ...edge(0, network, dns), cycle: null },
      { ...edge(1, dns, web), cycle: 1 },
      { ...edge(2, web, dns), cycle: 1 },
    ])
    expect(graph.truncated).toBe(false)
  })

  test('has what the caller may read, and reveals nothing else', async () => {
    const owner = await createUser(app)
    const other = await createOrganization(app, owner)
    const [one, two, three] = [
      await addWorkspace(app, { user: owner, organization: other.name }),
      await addWorkspace(app, { user: owner, organization: other.name }),
      await addWorkspace(app, { user: owner, organization: other.name }),
    ]
    for (const [from, to] of [
      [one, two],
      [two, three],
      [three, one],
    ] as const)
      await connect(app, from, to)
    const reader = await createUser(app)
    await createTeamWithAccess(app, {
      organizationId: other.id,
      members: [reader],
      workspaces: { [one.workspaceId]: 'read', [two.workspaceId]: 'read' },
    })

    const graph = await readGraph(reader.token, other.name)

    expect(graph.workspaces.map(({ name, cycle }: any) => `${name} ${cycle}`)).toEqual(
      [one, two].map(({ workspaceName }) => `${workspaceName} null`).toSorted(),
    )
    expect(graph.triggers).toHaveLength(1)
  })

  test('of an organization without run triggers is empty', async () => {
    const { name: organization } = await createOrganization(app, user)

    expect(await readGraph(user.token, organization)).toEqual({ workspaces: [], triggers: [], truncated: false })
  })
})
