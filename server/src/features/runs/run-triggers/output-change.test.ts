import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { addWorkspace, createConfigurationVersion, createRun, put, type RunSetting } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'
import { connect, endJobs, fire, listSkips, listTriggered, readChain } from './testing/triggers.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const user = await createUser(app)
const { name: organization } = await createOrganization(app, user)

let network: RunSetting
let web: RunSetting
beforeEach(async () => {
  network = await addWorkspace(app, { user, organization })
  web = await addWorkspace(app, { user, organization, attributes: { 'trigger-only-on-output-change': true } })
  await connect(app, network, web)
})

afterEach(async () => {
  await endJobs(agent)
})

/** Applies a run of the source whose engine stores this state, fires, and returns the run's id. */
async function applyState(source: RunSetting, raw: Buffer, { fires = true, attributes = {} } = {}) {
  const run = await createRun(app, source, { 'auto-apply': true })
  await (await agent.take()).finish()
  const job = await agent.take()
  const engine = stateClient(app, { id: source.workspaceId, name: source.workspaceName }, job.engineToken)
  await engine.post(raw, attributes, { run: { data: { type: 'runs', id: run } } })
  await job.finish()
  if (!fires) return run
  await fire(app)
  await endJobs(agent)
  return run
}

const applyOutputs = async (serial: number, outputs: Record<string, unknown>, source = network) =>
  applyState(source, rawState({ serial, outputs, resources: [`r${serial}`] }))

const countTriggered = async () => (await listTriggered(app, web)).length

test('an apply that changes no output starts no run, with a reason', async () => {
  await applyOutputs(1, { vpc: 'v', list: { value: [1, 2], type: ['tuple', ['number', 'number']] } })
  const before = await countTriggered()

  const run = await applyOutputs(2, { vpc: 'v', list: { value: [1, 2], type: ['tuple', ['number', 'number']] } })

  expect(await countTriggered()).toBe(before)
  const reason = `outputs unchanged: nothing that the workspace reads from ${network.workspaceName} has changed`
  expect((await readChain(app, user.token, run)).firings).toMatchObject([{ status: 'skipped', reason }])
  expect(await listSkips(app, network, run)).toEqual([
    `no run was started in the workspace ${web.workspaceName}: ${reason}`,
  ])
})

test.each([
  ['another value', { vpc: 'w' }],
  ['another type', { vpc: { value: 'v', type: 'dynamic' } }],
  ['one more', { vpc: 'v', dns: 'd' }],
  ['none', {}],
])('outputs that become %s start a run', async (_, outputs) => {
  await applyOutputs(1, { vpc: 'v' })
  const before = await countTriggered()

  await applyOutputs(2, outputs)

  expect(await countTriggered()).toBe(before + 1)
})

test('a sensitive output counts like any other', async () => {
  const secret = (value: string) => ({ password: { value, type: 'string', sensitive: true } })
  await applyOutputs(1, secret('one'))
  const before = await countTriggered()

  await applyOutputs(2, secret('one'))
  const afterEqual = await countTriggered()
  await applyOutputs(3, secret('two'))

  expect([afterEqual, await countTriggered()]).toEqual([before, before + 1])
})

test('the first state starts a run when it has outputs', async () => {
  await applyOutputs(1, { vpc: 'v' })

  expect(await countTriggered()).toBe(1)
})

test('the first state starts none when it has no outputs', async () => {
  await applyOutputs(1, {})

  expect(await countTriggered()).toBe(0)
})

test('outputs of a large state are compared although they are extracted later', async () => {
  const large = (serial: number, vpc: string) =>
    rawState({ serial, outputs: { vpc }, resources: ['a'], padding: 400_000 })
  await applyState(network, large(1, 'v'))
  const before = await countTriggered()

  await applyState(network, large(2, 'v'))
  const afterEqual = await countTriggered()
  await applyState(network, large(3, 'w'))

  expect([afterEqual, await countTriggered()]).toEqual([before, before + 1])
})

test('an unreadable state starts a run', async () => {
  const envelope = { serial: 1, lineage: 'l', meta: {}, encrypted_data: 'aGk=', encryption_version: 'v0' }

  await applyState(network, Buffer.from(JSON.stringify(envelope)))

  expect(await countTriggered()).toBe(1)
})

test('of two sources that finish together, the one whose outputs changed is the cause', async () => {
  const dns = await addWorkspace(app, { user, organization })
  await connect(app, dns, web)
  await applyOutputs(1, { zone: 'z' }, dns)
  const before = await countTriggered()

  const unchanged = await applyState(dns, rawState({ serial: 2, outputs: { zone: 'z' } }), { fires: false })
  const changed = await applyState(network, rawState({ serial: 1, outputs: { vpc: 'v' } }))

  const runs = await listTriggered(app, web)
  expect(runs).toHaveLength(before + 1)
  expect(runs[0].attributes.message).toBe(`Triggered by ${changed} in ${network.workspaceName}`)
  expect((await readChain(app, user.token, unchanged)).firings).toMatchObject([{ status: 'skipped' }])
})

/** An archive with this text as its configuration. */
function archiveOf(text: string) {
  const directory = mkdtempSync(join(tmpdir(), 'groundstate-triggers-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'main.tf'), text)
  return execFileSync('tar', ['-C', directory, '-cz', '.'])
}

/** Uploads a configuration of the destination, and plans it with a plan that reads the state of the source. */
async function planReading(text: string, { padding = 0 } = {}) {
  const version = await createConfigurationVersion(app, web)
  await put(app, version.attributes['upload-url'], archiveOf(text))
  const reader = {
    mode: 'data',
    type: 'terraform_remote_state',
    name: 'net',
    values: { backend: 'remote', config: { organization, workspaces: { name: network.workspaceName } } },
  }
  await createRun(app, web)
  const job = await agent.take()
  const plan = {
    configuration: { root_module: { resources: [reader] } },
    prior_state: { values: { root_module: { resources: [reader] } } },
  }
  await job.put('plan-json', JSON.stringify(plan) + ' '.repeat(padding))
  await job.finish({ hasChanges: false })
}

test('if it is known which outputs are read, only these count', async () => {
  await planReading('locals { vpc = data.terraform_remote_state.net.outputs.vpc }')
  await applyOutputs(1, { vpc: 'v', other: '1' })
  const before = await countTriggered()

  await applyOutputs(2, { vpc: 'v', other: '2' })
  const afterOther = await countTriggered()
  await applyOutputs(3, { vpc: 'w', other: '2' })

  expect([before, afterOther, await countTriggered()]).toEqual([1, 1, 2])
})

test('if any output may be read, all count', async () => {
  await planReading('locals { all = data.terraform_remote_state.net.outputs }')
  await applyOutputs(1, { vpc: 'v', other: '1' })

  await applyOutputs(2, { vpc: 'v', other: '2' })

  expect(await countTriggered()).toBe(2)
})

test('a configuration that was not planned yet counts as reading all outputs', async () => {
  await planReading('locals { vpc = data.terraform_remote_state.net.outputs.vpc }')
  const version = await createConfigurationVersion(app, web)
  await put(app, version.attributes['upload-url'], archiveOf('# reads another output now'))
  await applyOutputs(1, { vpc: 'v', other: '1' })
  await endJobs(agent)

  await applyOutputs(2, { vpc: 'v', other: '2' })

  expect(await countTriggered()).toBe(2)
})

test('a plan that is too large to search counts as reading all outputs', async () => {
  await planReading('locals { vpc = data.terraform_remote_state.net.outputs.vpc }', { padding: 300 * 1024 * 1024 })
  await applyOutputs(1, { vpc: 'v', other: '1' })

  await applyOutputs(2, { vpc: 'v', other: '2' })

  expect(await countTriggered()).toBe(2)
})
