import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent, type FakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting, type RunSetting } from '../../../testing/runs.ts'

type Version = `${'terraform' | 'tofu'} ${string}`

/** A separate app whose agents have only these engines. */
async function site(agents: readonly (readonly Version[])[], settings: Record<string, string> = {}) {
  const app = await createTestApp(settings)
  const made: FakeAgent[] = []
  for (const [index, versions] of agents.entries()) {
    const engines = versions.map((text) => {
      const [product = '', version = ''] = text.split(' ')
      return { product: product as 'terraform' | 'tofu', version }
    })
    made.push(await createFakeAgent(app, { name: `agent-${index}`, engines, downloadsEngines: false }))
  }
  const setting = await createRunSetting(app)
  const require = async (version: string) => {
    const { status } = await app.request({
      method: 'PATCH',
      url: `/api/v2/workspaces/${setting.workspaceId}`,
      token: setting.user.token,
      body: { data: { type: 'workspaces', attributes: { 'terraform-version': version } } },
    })
    expect(status).toBe(200)
  }
  return { app, agents: made, setting, require }
}

test.each([
  ["the agent's only engine", ['tofu 1.10.0'], {}, 'tofu'],
  ['Terraform if the agent has both', ['tofu 1.10.0', 'terraform 1.11.4'], {}, 'terraform'],
  [
    'the configured engine if the agent has both',
    ['tofu 1.10.0', 'terraform 1.11.4'],
    { GROUNDSTATE_ENGINE: 'tofu' },
    'tofu',
  ],
  ["the agent's engine despite the setting", ['terraform 1.11.4'], { GROUNDSTATE_ENGINE: 'tofu' }, 'terraform'],
  ['the configured engine if the agent has none', [], {}, 'terraform'],
] as const)('a run without a requested engine gets %s', async (_, versions, settings, product) => {
  const { app, agents, setting } = await site([versions], settings)
  await createRun(app, setting)

  const job = await agents[0]?.take()

  expect(job?.engine.product).toBe(product)
})

test('the apply and the next run use the engine of the plan', async () => {
  const { app, agents, setting } = await site([['tofu 1.10.0']])
  await createRun(app, setting, { 'auto-apply': true })
  await (await agents[0]?.take())?.finish()
  const both = await createFakeAgent(app, {
    name: 'both',
    engines: [
      { product: 'terraform', version: '1.11.4' },
      { product: 'tofu', version: '1.10.0' },
    ],
    downloadsEngines: false,
  })
  app.clock.advance(2000)

  const apply = await both.take()
  await apply.finish()
  await createRun(app, setting)
  const next = await both.take()

  expect([apply.kind, apply.engine.product]).toEqual(['apply', 'tofu'])
  expect(next.engine.product).toBe('tofu')
})

test.each([
  ['OpenTofu/1.10.0', { 'Terraform-Version': '1.10.0' }, 'tofu'],
  ['go-tfe', { 'Terraform-Version': '1.11.4' }, 'terraform'],
])('a run of %s has the engine of that command line', async (agent, headers, product) => {
  const { app, agents, setting } = await site([['terraform 1.11.4', 'tofu 1.10.0']])
  await createRunAs(app, setting, { 'User-Agent': agent, ...headers })

  const job = await agents[0]?.take()

  expect(job?.engine.product).toBe(product)
})

test.each(['1.5.7', '~> 1.5.0', '< 1.6'])(
  'a run that requires %s is assigned to the agent that has it',
  async (version) => {
    const { app, agents, setting, require } = await site([['terraform 1.11.4'], ['terraform 1.5.7']])
    await require(version)
    await createRun(app, setting)

    expect(await agents[0]?.claim()).toBeUndefined()
    const job = await agents[1]?.take()

    expect(job?.engine).toEqual({ product: 'terraform', version, required: true })
  },
)

test('jobs left to another agent do not block those behind them', async () => {
  const { app, agents, setting, require } = await site([['terraform 1.11.4'], ['terraform 1.5.7']])
  await require('1.5.7')
  await createRun(app, setting)
  const other = await createRun(app, await createRunSetting(app))

  const job = await agents[0]?.take()

  expect(job?.runId).toBe(other)
})

test('a run is claimed by an agent that has or downloads its version', async () => {
  const { app, agents, setting, require } = await site([['terraform 1.11.4']])
  await require('1.5.7')
  const former = await createFakeAgent(app, { name: 'former' })
  await createRun(app, setting)

  expect(await agents[0]?.claim()).toBeUndefined()
  expect((await former.take()).engine.version).toBe('1.5.7')
})

test('a run whose version no agent has is claimed, so that the agent reports it', async () => {
  const { app, agents, setting, require } = await site([['terraform 1.11.4'], ['terraform 1.10.0']])
  await require('~> 1.5.0')
  await createRun(app, setting)

  expect((await agents[0]?.take())?.engine.version).toBe('~> 1.5.0')
})

test('a run does not wait for an offline agent', async () => {
  const { app, agents, setting, require } = await site([['terraform 1.11.4'], ['terraform 1.5.7']])
  await require('1.5.7')
  await createRun(app, setting)
  app.clock.advance(61_000)

  expect((await agents[0]?.take())?.engine.version).toBe('1.5.7')
})

test('a run waits for the busy agent that has its version', async () => {
  const { app, agents, setting, require } = await site([['terraform 1.11.4'], ['terraform 1.5.7']])
  await createRun(app, setting)
  const long = await agents[1]?.take()
  await require('1.5.7')
  const run = await createRun(app, setting, { 'plan-only': true })
  for (let beat = 0; beat < 4; beat += 1) {
    app.clock.advance(20_000)
    await long?.heartbeat()
  }

  expect(await agents[0]?.claim()).toBeUndefined()
  await long?.finish({ hasChanges: false })
  expect((await agents[1]?.take())?.runId).toBe(run)
})

test('any number of runs left to another agent do not block those behind them', async () => {
  const { app, agents, setting, require } = await site([['terraform 1.11.4'], ['terraform 1.5.7']])
  await require('1.5.7')
  for (let count = 0; count < 60; count += 1) await createRun(app, setting, { 'plan-only': true })
  await require('latest')
  const other = await createRun(app, setting, { 'plan-only': true })

  const job = await agents[0]?.take()

  expect(job?.runId).toBe(other)
  expect(await agents[0]?.claim()).toBeUndefined()
  expect((await agents[1]?.take())?.engine.version).toBe('1.5.7')
})

test('skipped jobs hide no others, whatever the length of the queue', async () => {
  const { app, agents, setting, require } = await site([['terraform 1.11.4'], ['terraform 1.5.7']])
  await require('1.5.7')
  for (let count = 0; count < 2010; count += 30)
    await Promise.all(Array.from({ length: 30 }, () => createRun(app, setting, { 'plan-only': true })))
  await require('latest')
  const other = await createRun(app, setting, { 'plan-only': true })
  // Jobs are skipped only for agents that are online, and creating the runs may have taken longer.
  await app.db.updateTable('agents').set({ last_ping_at: app.clock.now() }).execute()

  const job = await agents[0]?.claim()

  expect(job?.runId).toBe(other)
  expect(await agents[0]?.claim()).toBeUndefined()
}, 120_000)

test('skipped jobs are distinguished by version, by engine and by whether the version is required', async () => {
  const { app, agents, setting, require } = await site([['terraform 1.11.4'], ['terraform 1.5.7', 'tofu 1.11.4']])
  await require('1.5.7')
  await createRun(app, setting, { 'plan-only': true })
  await require('1.11.4')
  const tofu = { 'User-Agent': 'OpenTofu/1.11.4', 'Terraform-Version': '1.11.4' }
  await createRunAs(app, await createRunSetting(app), tofu)
  const run = await createRun(app, setting, { 'plan-only': true })

  const job = await agents[0]?.take()

  expect(job?.runId).toBe(run)
  expect(await agents[0]?.claim()).toBeUndefined()
})

test('an agent that downloads engines gets the preferred one if it has no suitable one', async () => {
  const { app, setting, require } = await site([])
  const engines = [{ product: 'tofu', version: '1.10.0' }] as const
  const agent = await createFakeAgent(app, { engines: [...engines], downloadsEngines: true })
  await require('1.11.4')
  await createRun(app, setting)

  expect((await agent.take()).engine).toEqual({ product: 'terraform', version: '1.11.4', required: true })
})

test('a requeued plan is not tied to an unrequested engine', async () => {
  const { app, agents, setting } = await site([['tofu 1.10.0']])
  await createRun(app, setting)
  const first = await agents[0]?.take()
  await first?.release()
  const engines = [{ product: 'terraform', version: '1.11.4' }] as const
  const other = await createFakeAgent(app, { name: 'other', engines: [...engines], downloadsEngines: false })

  const again = await other.take()

  expect([first?.engine.product, again.engine.product]).toEqual(['tofu', 'terraform'])
})

test('the apply of a plan that the previous server version ended uses the engine of the plan', async () => {
  const { app, agents, setting } = await site([['tofu 1.10.0']])
  const run = await createRun(app, setting, { 'auto-apply': true })
  await (await agents[0]?.take())?.finish()
  await app.db.updateTable('runs').set({ engine_is_open: true }).where('id', '=', run).execute()
  const engines = [{ product: 'terraform', version: '1.11.4' }] as const
  const other = await createFakeAgent(app, { name: 'other', engines: [...engines] })
  app.clock.advance(2000)

  const apply = await other.take()

  expect([apply.kind, apply.engine.product]).toEqual(['apply', 'tofu'])
})

async function createRunAs(
  app: Awaited<ReturnType<typeof site>>['app'],
  setting: RunSetting,
  headers: Record<string, string>,
) {
  const { status } = await app.request({
    method: 'POST',
    url: '/api/v2/runs',
    token: setting.user.token,
    headers,
    body: {
      data: {
        type: 'runs',
        attributes: {},
        relationships: { workspace: { data: { id: setting.workspaceId, type: 'workspaces' } } },
      },
    },
  })
  expect(status).toBe(201)
}
