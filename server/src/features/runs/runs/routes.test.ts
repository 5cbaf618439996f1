import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import {
  actOnRun,
  createRun,
  createRunSetting,
  postRun,
  readRun,
  readWorkspace,
  runStatus,
  uploadConfiguration,
} from '../../../testing/runs.ts'
import { runJobs } from './jobs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

/** Claims the next job and finishes it. */
async function work(body?: Parameters<Awaited<ReturnType<typeof agent.take>>['finish']>[0]) {
  const job = await agent.take()
  expect((await job.finish(body)).status).toBe(204)
  return job
}

describe('a run', () => {
  test('proceeds from its creation to applied', async () => {
    const setting = await createRunSetting(app)

    const created = (await postRun(app, setting, { message: 'first' })).json().data

    expect(created.attributes).toMatchObject({
      status: 'plan_queued',
      message: 'first',
      source: 'tfe-api',
      'has-changes': false,
      'is-destroy': false,
      refresh: true,
      'auto-apply': false,
      actions: {
        'is-cancelable': true,
        'is-confirmable': false,
        'is-discardable': false,
        'is-force-cancelable': false,
      },
      permissions: { 'can-apply': true, 'can-cancel': true, 'can-discard': true, 'can-force-cancel': true },
    })
    expect(created.relationships).toMatchObject({
      workspace: { data: { id: setting.workspaceId, type: 'workspaces' } },
      'configuration-version': { data: { id: setting.configurationVersionId } },
      plan: { data: { type: 'plans' } },
      apply: { data: { type: 'applies' } },
      'created-by': { data: { id: setting.user.id, type: 'users' } },
      'cost-estimate': { data: null },
      'task-stages': { data: [] },
    })
    const workspace = await readWorkspace(app, setting)
    expect(workspace.attributes.locked).toBe(true)
    expect(workspace.relationships['locked-by'].data).toEqual({ id: created.id, type: 'runs' })
    expect(workspace.relationships['current-run'].data.id).toBe(created.id)
    expect(workspace.relationships['latest-run'].data.id).toBe(created.id)

    const plan = await agent.take()
    expect(plan).toMatchObject({ kind: 'plan', runId: created.id, workspaceName: setting.workspaceName })
    expect(await runStatus(app, setting, created.id)).toBe('planning')
    await plan.finish({ hasChanges: true, counts: { additions: 1, changes: 2, destructions: 3, imports: 4 } })
    const planned = await readRun(app, setting, created.id)
    expect(planned.attributes).toMatchObject({ status: 'planned', 'has-changes': true })
    expect(planned.attributes.actions).toMatchObject({ 'is-confirmable': true, 'is-discardable': true })

    expect((await actOnRun(app, setting, { run: created.id, action: 'apply', comment: 'go' })).status).toBe(202)
    expect(await runStatus(app, setting, created.id)).toBe('apply_queued')
    await work()
    const applied = await readRun(app, setting, created.id)
    expect(applied.attributes.status).toBe('applied')
    expect(Object.keys(applied.attributes['status-timestamps'])).toEqual(
      expect.arrayContaining([
        'fetched-at',
        'plan-queued-at',
        'planning-at',
        'planned-at',
        'confirmed-at',
        'applied-at',
      ]),
    )
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
    expect((await readWorkspace(app, setting)).relationships['current-run'].data.id).toBe(created.id)
  })

  test('is shown with its includes', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    const include = 'plan,apply,created_by,cost_estimate,configuration_version.ingress_attributes,workspace,task_stages'

    const response = await app.request({ url: `/api/v2/runs/${run}/?include=${include}`, token: setting.user.token })

    expect(
      response
        .json()
        .included.map((resource: { type: string }) => resource.type)
        .toSorted(),
    ).toEqual(['applies', 'configuration-versions', 'plans', 'users', 'workspaces'])
    await work({ hasChanges: false })
    expect(await runStatus(app, setting, run)).toBe('planned_and_finished')
  })

  test('with auto-apply needs no confirmation', async () => {
    const setting = await createRunSetting(app, { 'auto-apply': true })
    const run = await createRun(app, setting)

    await work()

    expect(await runStatus(app, setting, run)).toBe('apply_queued')
    await work()
    expect(await runStatus(app, setting, run)).toBe('applied')
  })

  test('without changes is finished, and its apply unreachable', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)

    await work({ hasChanges: false })

    expect(await runStatus(app, setting, run)).toBe('planned_and_finished')
    const apply = await app.request({ url: `/api/v2/runs/${run}/apply`, token: setting.user.token })
    expect(apply.json().data.attributes.status).toBe('unreachable')
  })

  test('whose plan fails is errored and unlocks the workspace', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)

    await work({ status: 'errored', exitCode: 1, message: 'no engine' })

    expect((await readRun(app, setting, run)).attributes).toMatchObject({
      status: 'errored',
      'error-message': 'no engine',
    })
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })

  test('that is plan-only does not lock the workspace', async () => {
    const setting = await createRunSetting(app)
    const first = await createRun(app, setting)

    const speculative = await createRun(app, setting, { 'plan-only': true })

    expect(await runStatus(app, setting, speculative)).toBe('plan_queued')
    expect((await readWorkspace(app, setting)).relationships['current-run'].data.id).toBe(first)
    expect((await readWorkspace(app, setting)).relationships['latest-run'].data.id).toBe(speculative)
    await work()
    await work()
    expect(await runStatus(app, setting, speculative)).toBe('planned_and_finished')
    await actOnRun(app, setting, { run: first, action: 'discard' })
  })

  test('of a speculative configuration is plan-only', async () => {
    const setting = await createRunSetting(app)
    const version = await uploadConfiguration(app, setting, { speculative: true })

    const run = await createRun(app, setting, { configurationVersionId: version })

    expect((await readRun(app, setting, run)).attributes['plan-only']).toBe(true)
    await work()
  })

  test('gets its logs as JSON only from a client that renders them', async () => {
    const setting = await createRunSetting(app)
    await createRun(app, setting, { 'plan-only': true, headers: { 'x-terraform-integration': 'cloud' } })
    await createRun(app, setting, { 'plan-only': true })

    const structured = (await agent.take()).structuredOutput
    const human = (await agent.take()).structuredOutput

    expect([structured, human]).toEqual([true, false])
  })

  test('is not found by a stranger', async () => {
    const setting = await createRunSetting(app)
    const stranger = await createUser(app)
    const run = await createRun(app, setting)

    expect((await app.request({ url: `/api/v2/runs/${run}`, token: stranger.token })).status).toBe(404)
    expect((await actOnRun(app, { user: stranger }, { run, action: 'cancel' })).status).toBe(404)
    expect((await postRun(app, setting, { token: stranger.token })).status).toBe(404)
    expect((await actOnRun(app, setting, { run, action: 'cancel' })).status).toBe(202)
  })
})

describe('a failed apply of an auto-applied run', () => {
  test('stays applying at first, also when its log is read', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting, { 'auto-apply': true })
    await work()
    const apply = await agent.take()

    await apply.finish({ status: 'errored', exitCode: 1 })

    expect(await runStatus(app, setting, run)).toBe('applying')
    const shown = await app.request({ url: `/api/v2/runs/${run}/apply`, token: setting.user.token })
    expect(shown.json().data.attributes.status).toBe('running')
    await app.request({ url: new URL(shown.json().data.attributes['log-read-url']).pathname })
    expect(await runStatus(app, setting, run)).toBe('applying')
  })

  test('is reported immediately if the plan ended before the last poll of a CLI', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting, { 'auto-apply': true })
    await work()
    app.clock.advance(5500)

    await work({ status: 'errored', exitCode: 1 })

    expect(await runStatus(app, setting, run)).toBe('errored')
  })

  test('is reported once a CLI has polled the end of the plan', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting, { 'auto-apply': true })
    await work()
    await work({ status: 'errored', exitCode: 1 })

    // The CLI's first pauses are 1 s for the run and 0.5 s for the plan's log, plus a margin of 1 s for its requests.
    // The clock runs on meanwhile: a second is left for the statements of the test.
    app.clock.advance(1500)
    await app.runJobs()
    const before = await runStatus(app, setting, run)
    app.clock.advance(1000)
    await app.runJobs()

    expect([before, await runStatus(app, setting, run)]).toEqual(['applying', 'errored'])
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })

  test('is reported later after a wait in the queue, where a CLI polls less often', async () => {
    const setting = await createRunSetting(app)
    const act = async (action: 'lock' | 'unlock') =>
      app.request({
        method: 'POST',
        url: `/api/v2/workspaces/${setting.workspaceId}/actions/${action}`,
        token: setting.user.token,
        body: {},
      })
    await act('lock')
    const run = await createRun(app, setting, { 'auto-apply': true })
    app.clock.advance(60_000)
    await act('unlock')
    await work()
    await work({ status: 'errored', exitCode: 1 })

    app.clock.advance(3000)
    await app.runJobs()
    const before = await runStatus(app, setting, run)
    app.clock.advance(1500)
    await app.runJobs()

    expect([before, await runStatus(app, setting, run)]).toEqual(['applying', 'errored'])
  })

  test('is reported when the database starts the job, also by a server whose clock is behind', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting, { 'auto-apply': true })
    await work()
    await work({ status: 'errored', exitCode: 1 })
    const now = app.clock.now().getTime()

    for (const { run: handle } of runJobs)
      await handle({ ...app.as(), now: () => new Date(now - 3000) }, { runId: run }, new AbortController().signal)

    expect(await runStatus(app, setting, run)).toBe('errored')
  })
})
