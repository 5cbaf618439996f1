import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { actOnRun, addWorkspace, createRun, readRun, type RunSetting, runStatus } from '../../../testing/runs.ts'
import { createPool } from '../../agents/agent-pools/testing/pools.ts'
import { fireOverdue, fireTriggers } from './fire.ts'
import {
  applyRun,
  confirm,
  connect,
  endJobs,
  finishRun,
  fire,
  listSkips,
  listTriggered,
  readChain,
} from './testing/triggers.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const user = await createUser(app)
const { name: organization } = await createOrganization(app, user)
const add = async (attributes: Record<string, unknown> = {}) => addWorkspace(app, { user, organization, attributes })

let network: RunSetting
let dns: RunSetting
let web: RunSetting
beforeEach(async () => {
  network = await add()
  dns = await add()
  web = await add()
})

afterEach(async () => {
  await fire(app)
  await endJobs(agent)
})

test('a successful apply starts one run in each workspace that it triggers', async () => {
  const trigger = await connect(app, network, web)
  await connect(app, network, dns)

  const cause = await applyRun(app, agent, network)
  await fire(app)
  await fire(app)

  for (const destination of [web, dns]) {
    const runs = await listTriggered(app, destination)
    expect(runs).toHaveLength(1)
    expect(runs[0].attributes).toMatchObject({
      source: 'tfe-run-trigger',
      'trigger-reason': 'run_trigger',
      'triggering-source-name': network.workspaceName,
      message: `Triggered by ${cause} in ${network.workspaceName}`,
      'is-destroy': false,
      'plan-only': false,
    })
    expect(runs[0].relationships).toMatchObject({
      'created-by': { data: null },
      'triggering-run': { data: { id: cause, type: 'runs' } },
      'triggering-source': { data: { id: network.workspaceId, type: 'workspaces' } },
      'triggering-runs': { data: [{ id: cause, type: 'runs' }] },
    })
  }
  const { data } = (await app.request({ url: `/api/v2/run-triggers/${trigger}`, token: user.token })).json()
  expect(data.attributes['last-fired-at']).toMatch(/^\d{4}-/)
})

test('a run starts only after the delay', async () => {
  await connect(app, network, web)

  await applyRun(app, agent, network)
  await app.runJobs()

  expect(await listTriggered(app, web)).toEqual([])
})

test.each([
  [true, 'apply_queued'],
  [false, 'planned'],
])('auto-apply-run-trigger %s decides whether the run is auto-applied, not auto-apply', async (auto, status) => {
  const destination = await add({ 'auto-apply': !auto, 'auto-apply-run-trigger': auto })
  await connect(app, network, destination)

  await applyRun(app, agent, network)
  await fire(app)
  await (await agent.take()).finish()

  const [run] = await listTriggered(app, destination)
  expect(run.attributes).toMatchObject({ status, 'auto-apply': auto })
})

describe('without a successful apply nothing fires:', () => {
  beforeEach(() => connect(app, network, web))

  test('a plan-only run', async () => {
    await createRun(app, network, { 'plan-only': true })
    await (await agent.take()).finish()
    await fire(app)

    expect(await listTriggered(app, web)).toEqual([])
  })

  test('a plan without changes', async () => {
    await createRun(app, network, { 'auto-apply': true })
    await (await agent.take()).finish({ hasChanges: false })
    await fire(app)

    expect(await listTriggered(app, web)).toEqual([])
  })

  test('a discarded plan', async () => {
    const run = await createRun(app, network)
    await (await agent.take()).finish()
    await actOnRun(app, network, { run, action: 'discard' })
    await fire(app)

    expect(await listTriggered(app, web)).toEqual([])
  })

  test('a failed apply', async () => {
    await createRun(app, network, { 'auto-apply': true })
    await (await agent.take()).finish()
    await (await agent.take()).finish({ status: 'errored', exitCode: 1 })
    await fire(app)

    expect(await listTriggered(app, web)).toEqual([])
  })
})

test.each([{ 'is-destroy': true }, { 'allow-empty-apply': true }])('an apply with %j fires', async (attributes) => {
  await connect(app, network, web)

  const run = await createRun(app, network, { ...attributes, 'auto-apply': true })
  await (await agent.take()).finish({ hasChanges: 'is-destroy' in attributes })
  await (await agent.take()).finish()
  await fire(app)

  expect(await runStatus(app, network, run)).toBe('applied')
  expect(await listTriggered(app, web)).toHaveLength(1)
})

test('sources that finish within the delay start one run, which names them all', async () => {
  await connect(app, network, web)
  await connect(app, dns, web)

  const first = await applyRun(app, agent, network)
  app.clock.advance(app.config.triggerDelay / 2)
  const second = await applyRun(app, agent, dns)
  await fire(app)

  const runs = await listTriggered(app, web)
  expect(runs).toHaveLength(1)
  expect(runs[0].attributes.message).toBe(
    `Triggered by ${first} in ${network.workspaceName} and ${second} in ${dns.workspaceName}`,
  )
  expect(runs[0].relationships['triggering-runs'].data.map(({ id }: any) => id)).toEqual([first, second])
})

test('sources that finish far apart start one run each', async () => {
  await connect(app, network, web)
  await connect(app, dns, web)

  for (const source of [network, dns]) {
    await applyRun(app, agent, source)
    await fire(app)
    await (await agent.take()).finish({ hasChanges: false })
  }

  expect(await listTriggered(app, web)).toHaveLength(2)
})

test('repeated and concurrent jobs start one run', async () => {
  await connect(app, network, web)
  await applyRun(app, agent, network)

  await Promise.all([1, 2, 3].map(async () => fireTriggers(app.as(), web.workspaceId)))
  await fire(app)

  expect(await listTriggered(app, web)).toHaveLength(1)
})

test('a firing whose job was lost still starts its run', async () => {
  await connect(app, network, web)
  await applyRun(app, agent, network)
  await sql`delete from pgboss.job`.execute(app.db)

  app.clock.advance(app.config.triggerDelay + 61_000)
  await fireOverdue(app.as(), new AbortController().signal)

  expect(await listTriggered(app, web)).toHaveLength(1)
})

test('a triggered run waits for the lock of its workspace', async () => {
  await connect(app, network, web)
  const lock = `/api/v2/workspaces/${web.workspaceId}/actions/`
  await app.request({ method: 'POST', url: `${lock}lock`, token: user.token, body: { reason: 'repair' } })

  await applyRun(app, agent, network)
  await fire(app)

  const [run] = await listTriggered(app, web)
  expect(run.attributes.status).toBe('pending')
  expect(run.attributes['waiting-reason']).toContain('repair')
  await app.request({ method: 'POST', url: `${lock}unlock`, token: user.token })
})

describe('a firing that cannot start a run is skipped with a reason:', () => {
  const skipped = async (destination: Pick<RunSetting, 'user' | 'workspaceId'>) => {
    const run = await applyRun(app, agent, network)
    await fire(app)
    const [firing] = (await readChain(app, user.token, run)).firings
    expect(await listTriggered(app, destination)).toEqual([])
    expect(firing).toMatchObject({ 'source-run-id': run, 'run-id': null, status: 'skipped' })
    expect((await listSkips(app, network, run)).join()).toContain(firing.reason)
    return firing.reason
  }

  test('there is no configuration', async () => {
    const { id: workspaceId } = await createWorkspace(app, { organization, actor: user.actor })
    await connect(app, network, { user, workspaceId })

    expect(await skipped({ user, workspaceId })).toContain('has no configuration yet')
  })

  test('the execution mode is local', async () => {
    const local = await add({ 'execution-mode': 'local' })
    await connect(app, network, local)

    expect(await skipped(local)).toContain('execution mode local')
  })

  test('the agent pool no longer serves the workspace', async () => {
    const pool = await createPool(app, { user, organization }, { name: 'cellar' })
    const inside = await add({ 'execution-mode': 'agent', 'agent-pool-id': pool.id })
    await connect(app, network, inside)
    const body = { data: { type: 'agent-pools', attributes: { 'organization-scoped': false } } }
    await app.request({ method: 'PATCH', url: `/api/v2/agent-pools/${pool.id}`, token: user.token, body })

    expect(await skipped(inside)).toContain(
      'the agent pool cellar is not for this workspace: its scope must allow it first',
    )
  })

  test('the workspace was deleted in the meantime', async () => {
    await connect(app, network, web)
    const run = await applyRun(app, agent, network)
    await app.request({ method: 'DELETE', url: `/api/v2/workspaces/${web.workspaceId}`, token: user.token })
    await fire(app)

    const chain = await readChain(app, user.token, run)
    expect(chain.firings).toMatchObject([{ status: 'skipped', reason: 'the workspace has been deleted' }])
    expect(await listSkips(app, network, run)).toEqual([
      'no run was started in a workspace: the workspace has been deleted',
    ])
  })
})

test('a run in a cycle triggers its cause again', async () => {
  const [one, two] = [await add({ 'auto-apply-run-trigger': true }), await add({ 'auto-apply-run-trigger': true })]
  await connect(app, one, two)
  await connect(app, two, one)

  await applyRun(app, agent, one)
  await fire(app)
  await finishRun(agent)
  await fire(app)

  const [again] = await listTriggered(app, one)
  expect(again.attributes.message).toContain(two.workspaceName)
})

test('a chain ends after 25 links with a reason', async () => {
  const [one, two] = [await add({ 'auto-apply-run-trigger': true }), await add({ 'auto-apply-run-trigger': true })]
  await connect(app, one, two)
  await connect(app, two, one)

  const first = await applyRun(app, agent, one)
  for (let link = 1; link <= 25; link += 1) {
    await fire(app)
    await finishRun(agent)
  }
  await fire(app)

  expect(await agent.claim()).toBeUndefined()
  const { runs, firings } = await readChain(app, user.token, first)
  expect(runs).toHaveLength(26)
  expect(runs.at(-1)).toMatchObject({ depth: 25, status: 'applied', 'workspace-name': two.workspaceName })
  expect(firings.at(-1)).toMatchObject({ status: 'skipped', reason: expect.stringContaining('25 links') })
  expect(firings).toHaveLength(26)
})

test('an apply confirmed by a user fires', async () => {
  await connect(app, network, web)
  const run = await createRun(app, network)
  await (await agent.take()).finish()

  await confirm(app, network, agent, run)
  await fire(app)

  const [triggered] = await listTriggered(app, web)
  expect((await readRun(app, web, triggered.id)).relationships['triggering-run'].data.id).toBe(run)
})

test('deleted triggers and those of deleted workspaces do not fire', async () => {
  const trigger = await connect(app, network, web)
  await app.request({ method: 'DELETE', url: `/api/v2/run-triggers/${trigger}`, token: user.token })

  await applyRun(app, agent, network)
  await fire(app)

  expect(await listTriggered(app, web)).toEqual([])
})
