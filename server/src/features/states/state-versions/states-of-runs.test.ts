import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent, type FakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting, type RunSetting, runStatus } from '../../../testing/runs.ts'
import { download, rawState, type StateClient, stateClient, upload } from '../../../testing/state-versions.ts'

let app: TestApp
let agent: FakeAgent

beforeAll(async () => {
  app = await createTestApp()
  agent = await createFakeAgent(app)
})

/** A run that is applying, with its workspace as seen by the engine and by the user. */
async function applying() {
  const setting = await createRunSetting(app)
  const runId = await createRun(app, setting, { 'auto-apply': true })
  const plan = await agent.take()
  await plan.finish()
  const apply = await agent.take()
  expect(apply.runId).toBe(runId)
  const workspace = { id: setting.workspaceId, name: setting.workspaceName }
  return {
    setting,
    runId,
    plan,
    apply,
    engine: stateClient(app, workspace, apply.engineToken),
    user: stateClient(app, workspace, setting.user.token),
  }
}

/** Stores a state like terraform: creates a pending version of the run, then uploads. */
async function store(engine: StateClient, raw: Buffer, runId: string) {
  const response = await engine.post(raw, { state: undefined }, { run: { data: { type: 'runs', id: runId } } })
  expect(response.status).toBe(201)
  const { id, attributes } = response.json().data
  expect((await upload(app, attributes['hosted-state-upload-url'], raw)).status).toBe(200)
  expect((await engine.request('GET', `/state-versions/${id}`)).status).toBe(200)
  return id as string
}

describe('the states that an engine stores during an apply', () => {
  test('are snapshots until the run ends; then the last one becomes current', async () => {
    const { setting, runId, apply, engine, user } = await applying()
    const first = await store(engine, rawState({ serial: 1, resources: ['a'] }), runId)
    const last = await store(engine, rawState({ serial: 2, resources: ['a', 'b'], outputs: { x: 'y' } }), runId)

    expect((await user.current()).status).toBe(404)
    expect((await user.show(last)).attributes.intermediate).toBe(true)
    await apply.finish()

    expect(await runStatus(app, setting, runId)).toBe('applied')
    const current = (await user.current()).json().data
    expect(current).toMatchObject({ id: last, attributes: { intermediate: false } })
    expect(current.relationships.run.data).toEqual({ id: runId, type: 'runs' })
    expect((await user.show(first)).attributes.intermediate).toBe(true)
    const outputs = await user.request('GET', `/workspaces/${user.id}/current-state-version-outputs`)
    expect(outputs.json().data).toMatchObject([{ attributes: { name: 'x', value: 'y' } }])
  })

  test('are the same whether created inline or uploaded', async () => {
    const raw = rawState({ serial: 1, resources: ['a'], outputs: { x: 'y' } })
    const json = Buffer.from('{"format_version":"1.0"}')
    const outputs = Buffer.from('{"x":{"sensitive":false,"value":"y","type":"string"}}').toString('base64')
    const announced = await applying()
    const atOnce = await applying()
    const run = (runId: string) => ({ run: { data: { type: 'runs', id: runId } } })

    const response = await announced.engine.post(
      raw,
      { state: undefined, force: false, 'json-state-outputs': outputs },
      run(announced.runId),
    )
    const { attributes: urls } = response.json().data
    await upload(app, urls['hosted-json-state-upload-url'], json)
    await upload(app, urls['hosted-state-upload-url'], raw)
    const contents = { 'json-state': json.toString('base64'), 'json-state-outputs': outputs, force: false }
    const other = await atOnce.engine.post(raw, contents, run(atOnce.runId))

    const shown = async ({ user, setting, runId }: typeof atOnce, id: string) => {
      const version = await user.show(id)
      const load = async (name: string) => (await download(app, version.attributes[name])).text
      const text = JSON.stringify(version, (name, value) => (name.endsWith('-url') ? Boolean(value) : value))
      const own = [id, runId, setting.workspaceId, version.attributes['created-at']]
      const outputIds = version.relationships.outputs.data.map((output: { id: string }) => output.id)
      return {
        version: [...own, ...outputIds].reduce((found, part, n) => found.replaceAll(part, `<${n}>`), text),
        raw: await load('hosted-state-download-url'),
        json: await load('hosted-json-state-download-url'),
      }
    }
    expect(await shown(atOnce, other.json().data.id)).toEqual(await shown(announced, response.json().data.id))
  })

  describe('of an engine that was interrupted before it created anything, and starts over after its empty state,', () => {
    const empty = rawState({ serial: 1, lineage: 'first' })
    const made = rawState({ serial: 1, lineage: 'second', resources: ['a'] })

    test('are accepted from serial 1, and the last one becomes current', async () => {
      const { setting, runId, apply, engine, user } = await applying()
      await store(engine, empty, runId)
      await store(engine, made, runId)
      const last = await store(engine, rawState({ serial: 2, lineage: 'second', resources: ['a', 'b'] }), runId)

      await apply.finish()

      expect(await runStatus(app, setting, runId)).toBe('applied')
      expect((await user.current()).json().data.id).toBe(last)
    })

    test('do not replace a state with resources', async () => {
      const { runId, engine } = await applying()
      await store(engine, made, runId)

      const refused = await engine.post(rawState({ serial: 1, lineage: 'third', resources: ['b'] }))

      expect(refused.status).toBe(409)
    })

    test('do not replace a state with outputs only', async () => {
      const { runId, engine } = await applying()
      await store(engine, rawState({ serial: 1, lineage: 'first', outputs: { x: 'y' } }), runId)

      expect((await engine.post(made)).status).toBe(409)
    })

    test('are stored once, even if the empty state is sent repeatedly', async () => {
      const { setting, engine, user } = await applying()
      const first = await engine.post(empty)

      const again = await Promise.all([engine.post(empty), engine.post(empty)])

      expect(first.status).toBe(201)
      expect(again.map((response) => response.json().data.id)).toEqual([first.json().data.id, first.json().data.id])
      const filters = `filter[organization][name]=${setting.organization}&filter[workspace][name]=${user.name}`
      expect((await user.request('GET', `/state-versions?${filters}`)).json().data).toHaveLength(1)
    })

    test('do not replace a state of the same lineage', async () => {
      const { engine } = await applying()
      const removed = rawState({ serial: 2, lineage: 'second' })
      await engine.post(made)
      await engine.post(removed)

      const late = await engine.post(made)

      expect(late.status).toBe(412)
    })

    test('do not replace a state of an earlier run', async () => {
      const { setting, runId, apply, engine } = await applying()
      await store(engine, empty, runId)
      await apply.finish()
      await createRun(app, setting, { 'auto-apply': true })
      await (await agent.take()).finish()
      const next = await agent.take()

      const refused = await stateClient(app, engine, next.engineToken).post(made)

      expect(refused.status).toBe(409)
    })
  })

  test('are listed by their apply only', async () => {
    const { runId, apply, engine, user } = await applying()
    const first = await store(engine, rawState({ serial: 1 }), runId)
    const last = await store(engine, rawState({ serial: 2 }), runId)
    await apply.finish()

    const shown = (await user.request('GET', `/runs/${runId}/apply`)).json().data
    const included = (await user.request('GET', `/runs/${runId}?include=apply,plan`)).json().included
    const made = [first, last].map((id) => ({ id, type: 'state-versions' }))

    expect(shown.relationships['state-versions'].data).toEqual(made)
    for (const { type, relationships } of included) {
      expect(relationships['state-versions'].data).toEqual(type === 'applies' ? made : [])
    }
    expect(included).toHaveLength(2)
  })

  test('also become current when the apply fails', async () => {
    const { setting, runId, apply, engine, user } = await applying()
    const last = await store(engine, rawState({ serial: 1 }), runId)

    await apply.finish({ status: 'errored', exitCode: 1 })
    // The run briefly waits for its log to be opened.
    app.clock.advance(60_000)
    await app.runJobs()

    expect(await runStatus(app, setting, runId)).toBe('errored')
    expect((await user.current()).json().data.id).toBe(last)
  })

  test('are created by an internal account, which can be included with the run and its configuration', async () => {
    const { setting, runId, apply, engine, user } = await applying()
    const id = await store(engine, rawState({ serial: 1 }), runId)
    await apply.finish()

    const includes = 'created_by,run,run.created_by,run.configuration_version'
    const response = (await user.request('GET', `/state-versions/${id}?include=${includes}`)).json()

    expect(response.included.map(({ type, id }: any) => `${type}/${id}`).toSorted()).toEqual(
      [
        `configuration-versions/${setting.configurationVersionId}`,
        `runs/${runId}`,
        `users/${setting.user.id}`,
        'users/user-GroundstateRuns1',
      ].toSorted(),
    )
    const internal = response.included.find((one: any) => one.id === 'user-GroundstateRuns1')
    expect(internal.attributes['is-service-account']).toBe(true)
  })
})

describe("a run's token", () => {
  test('writes only to its own workspace', async () => {
    const { apply, setting } = await applying()
    const other = await createWorkspace(app, { organization: setting.organization })

    expect((await stateClient(app, other, apply.engineToken).post(rawState())).status).toBe(404)
    await apply.finish()
  })

  test('cannot roll back', async () => {
    const { engine, apply, runId } = await applying()
    const id = await store(engine, rawState({ serial: 1 }), runId)

    expect((await engine.rollBack(id)).status).toBe(404)
    await apply.finish()
  })

  test('cannot reference another run', async () => {
    const { engine, apply } = await applying()
    const foreign = await applying()

    const response = await engine.post(rawState(), {}, { run: { data: { type: 'runs', id: foreign.runId } } })

    expect(response.status).toBe(422)
    await apply.finish()
    await foreign.apply.finish()
  })

  test('of a run that does not hold the lock cannot write', async () => {
    const setting: RunSetting = await createRunSetting(app)
    await createRun(app, setting, { 'plan-only': true })
    const plan = await agent.take()
    const engine = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, plan.engineToken)

    expect((await engine.post(rawState())).status).toBe(409)
    await plan.finish()
  })

  test('cannot write during the plan, although the run holds the lock', async () => {
    const setting: RunSetting = await createRunSetting(app)
    const runId = await createRun(app, setting)
    const plan = await agent.take()
    const engine = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, plan.engineToken)

    const response = await engine.post(rawState())

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toBe(
      `the run ${runId} is planning: a run may write state only while it applies`,
    )
    await plan.finish({ hasChanges: false })
  })

  test('is invalid after the run has ended', async () => {
    const { apply, engine } = await applying()
    await apply.finish()

    expect((await engine.post(rawState())).status).toBe(401)
  })
})

test('a user may reference only a run of the workspace', async () => {
  const { runId, apply, user } = await applying()
  await apply.finish()
  await user.lock()

  const response = await user.post(rawState({ serial: 1 }), {}, { run: { data: { type: 'runs', id: runId } } })
  expect(response.status).toBe(201)
  expect(response.json().data.relationships.run.data).toEqual({ id: runId, type: 'runs' })

  const foreign = await applying()
  await foreign.apply.finish()
  const refused = await user.post(rawState({ serial: 2 }), {}, { run: { data: { type: 'runs', id: foreign.runId } } })
  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].source.pointer).toBe('/data/relationships/run')
})

test('a user cannot write state while a run holds the lock', async () => {
  const { apply, user, runId } = await applying()

  const response = await user.post(rawState())

  expect(response.status).toBe(409)
  expect(response.json().errors[0].detail).toContain(`is locked by Run ${runId}`)
  await apply.finish()
})
