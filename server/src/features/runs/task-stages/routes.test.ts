import type { Stage } from '@groundstate/contract/run-tasks'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { actOnRun, createRun, readRun } from '../../../testing/runs.ts'
import {
  addTask,
  callBack,
  createTask,
  createTaskSetting,
  eventually,
  passDeferral,
  readResult,
  readStages,
  runReaches,
  startDeliveries,
  type TaskSetting,
  finishNextJob,
} from '../../../testing/task-runs.ts'

const app = await createTestApp()
startDeliveries(app)

/** Makes the receiver respond to every request and call back with a status by stage. */
function respondWith(setting: TaskSetting, status: (stage: Stage) => 'passed' | 'failed' = () => 'passed') {
  setting.receiver.onRequest = async ({ payload }, response) => {
    response.end()
    await callBack(app, payload, { status: status(payload.stage), message: `said at ${payload.stage}` })
  }
}

/** Advances a run through plan, confirmation and apply, as far as possible. */
async function drive(setting: TaskSetting, run: string) {
  const ends = new Set(['errored', 'applied', 'planned_and_finished', 'canceled'])
  return eventually(async () => {
    const { status } = (await readRun(app, setting, run)).attributes
    if (ends.has(status)) return status as string
    if (status === 'plan_queued' || status === 'apply_queued') await finishNextJob(setting.agent, run)
    if (status === 'post_plan_running' || status === 'pre_apply_running') await passDeferral(app, setting, run)
    if (status === 'planned' || status === 'post_plan_completed') await actOnRun(app, setting, { run, action: 'apply' })
    return undefined
  })
}

const stagesOf = async (setting: TaskSetting, run: string) =>
  (await readStages(app, setting, run)).map(({ attributes }: any) => [attributes.stage, attributes.status])

describe('the stages of a run', () => {
  test('are pending from its creation, with one result per task', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'pre_apply'], name: 'b' })
    await addTask(app, setting, { stages: ['pre_apply'], name: 'a', level: 'advisory' })
    await addTask(app, setting, { stages: ['post_plan'], enabled: false })

    const run = await createRun(app, setting)

    const { relationships } = await readRun(app, setting, run)
    const url = `/api/v2/runs/${run}?include=task_stages`
    const included = (await app.request({ url, token: setting.user.token })).json().included
    const stages = await readStages(app, setting, run)
    expect(stages.map(({ attributes }: any) => attributes.stage)).toEqual(['pre_plan', 'pre_apply'])
    expect(stages.map(({ relationships }: any) => relationships['task-results'].data.length)).toEqual([1, 2])
    expect(relationships['task-stages'].data).toEqual(stages.map(({ id, type }: any) => ({ id, type })))
    expect(included).toEqual(stages)
    expect(stages[1]).toMatchObject({
      type: 'task-stages',
      attributes: {
        status: 'pending',
        permissions: { 'can-override-policy': true, 'can-override-tasks': true, 'can-override': true },
        actions: { 'is-overridable': false },
      },
      relationships: { run: { data: { id: run, type: 'runs' } }, 'policy-evaluations': { data: [] } },
    })
    expect(stages[1].id).toMatch(/^ts-/)
    const shown = await app.request({
      url: `/api/v2/task-stages/${stages[1].id}?include=task_results,policy_evaluations,run,run.workspace`,
      token: setting.user.token,
    })
    expect(shown.json().included.map(({ type }: any) => type)).toEqual([
      'task-results',
      'task-results',
      'runs',
      'workspaces',
    ])
    expect(
      shown
        .json()
        .included.map(({ attributes }: any) => attributes['task-name'])
        .slice(0, 2),
    ).toEqual(['a', 'b'])
    expect(shown.json().included[0].attributes).toMatchObject({
      status: 'pending',
      stage: 'pre_apply',
      'workspace-task-enforcement-level': 'advisory',
      'is-speculative': false,
      message: '',
    })
  })

  test('are those of its tasks: a run without tasks has none', async () => {
    const setting = await createTaskSetting(app)

    const run = await createRun(app, setting)

    expect(await readStages(app, setting, run)).toEqual([])
    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })

  test('pass one after the other, with timestamps on run and stage', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] })
    respondWith(setting)

    const run = await createRun(app, setting)

    expect(await drive(setting, run)).toBe('applied')
    const { attributes } = await readRun(app, setting, run)
    for (const stage of ['pre-plan', 'post-plan', 'pre-apply', 'post-apply']) {
      expect(attributes['status-timestamps']).toHaveProperty(`${stage}-running-at`)
      expect(attributes['status-timestamps']).toHaveProperty(`${stage}-completed-at`)
    }
    const stages = await readStages(app, setting, run)
    expect(stages.map(({ attributes }: any) => attributes.status)).toEqual(['passed', 'passed', 'passed', 'passed'])
    expect(Object.keys(stages[0].attributes['status-timestamps']).sort()).toEqual([
      'passed-at',
      'pending-at',
      'running-at',
    ])
  })

  test.each([
    ['pre_plan', 'errored', ['failed', 'unreachable', 'unreachable', 'unreachable']],
    ['post_plan', 'errored', ['passed', 'failed', 'unreachable', 'unreachable']],
    ['pre_apply', 'errored', ['passed', 'passed', 'failed', 'unreachable']],
    ['post_apply', 'applied', ['passed', 'passed', 'passed', 'failed']],
  ] as const)('a mandatory task that fails at %s leaves the run %s', async (at, end, statuses) => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'], name: 'strict' })
    respondWith(setting, (stage) => (stage === at ? 'failed' : 'passed'))

    const run = await createRun(app, setting)

    expect(await drive(setting, run)).toBe(end)
    expect((await stagesOf(setting, run)).map(([, status]: string[]) => status)).toEqual(statuses)
    const message = (await readRun(app, setting, run)).attributes['error-message']
    expect(message).toBe(end === 'errored' ? `the mandatory task strict failed: said at ${at}` : null)
  })

  test('an advisory task that fails only warns', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan'], level: 'advisory', name: 'hint' })
    respondWith(setting, () => 'failed')

    const run = await createRun(app, setting)

    expect(await drive(setting, run)).toBe('applied')
    const [stage] = await readStages(app, setting, run)
    expect(stage.attributes).toMatchObject({
      status: 'passed',
      message: 'the advisory task hint failed: said at pre_plan',
    })
  })

  test('a plan-only run has those before and after the plan', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] })
    respondWith(setting)

    const run = await createRun(app, setting, { 'plan-only': true })

    expect(await drive(setting, run)).toBe('planned_and_finished')
    expect((await stagesOf(setting, run)).map(([, status]: string[]) => status)).toEqual([
      'passed',
      'passed',
      'unreachable',
      'unreachable',
    ])
  })

  test('the tasks of one stage run concurrently, and the last result advances the run', async () => {
    const setting = await createTaskSetting(app)
    for (let index = 0; index < 5; index += 1) await addTask(app, setting, { stages: ['pre_plan'] })
    const run = await createRun(app, setting)
    await setting.receiver.received(5)
    const payloads = setting.receiver.requests.map(({ payload }) => payload)

    for (const payload of payloads.slice(1)) await callBack(app, payload, { status: 'passed' })
    expect((await readRun(app, setting, run)).attributes).toMatchObject({ status: 'pre_plan_running' })
    expect((await readRun(app, setting, run)).attributes['waiting-reason']).toMatch(
      /^task task-\d+ has not called back, (10:00|9:5\d) left$/,
    )
    await callBack(app, payloads[0] as (typeof payloads)[0], { status: 'passed' })

    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })

  test('no concurrent callback is lost', async () => {
    const setting = await createTaskSetting(app)
    for (let index = 0; index < 8; index += 1) await addTask(app, setting, { stages: ['pre_plan'] })
    const run = await createRun(app, setting)
    await setting.receiver.received(8)

    const responses = await Promise.all(
      setting.receiver.requests.map(async ({ payload }) => callBack(app, payload, { status: 'passed' })),
    )

    expect(responses.map((response) => response.status)).toEqual(Array.from({ length: 8 }, () => 200))
    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })
})

describe('a global task', () => {
  test('runs in every workspace, and the most restrictive level wins', async () => {
    const setting = await createTaskSetting(app)
    const global = { enabled: true, stages: ['pre_plan', 'post_plan'], 'enforcement-level': 'mandatory' }
    const task = await createTask(app, setting, { 'global-configuration': global })
    await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${setting.workspaceId}/tasks`,
      token: setting.user.token,
      body: {
        data: {
          type: 'workspace-tasks',
          attributes: { 'enforcement-level': 'advisory', stages: ['post_plan', 'pre_apply'] },
          relationships: { task: { data: { type: 'tasks', id: task } } },
        },
      },
    })

    const run = await createRun(app, setting)

    const stages = await readStages(app, setting, run)
    const levels = await Promise.all(
      stages.map(async ({ attributes, relationships }: any) => {
        const [{ id }] = relationships['task-results'].data
        const result = await readResult(app, setting, id)
        return [attributes.stage, result.attributes['workspace-task-enforcement-level']]
      }),
    )
    expect(levels).toEqual([
      ['pre_plan', 'mandatory'],
      ['post_plan', 'mandatory'],
      ['pre_apply', 'advisory'],
    ])
  })
})

describe('changes during a run', () => {
  const patchTask = async (setting: TaskSetting, task: string, attributes: Record<string, unknown>) =>
    app.request({
      method: 'PATCH',
      url: `/api/v2/tasks/${task}`,
      token: setting.user.token,
      body: { data: { type: 'tasks', attributes } },
    })

  test.each(['disabled', 'detached', 'deleted'])(
    'a task that is %s before its stage gets no request',
    async (change) => {
      const setting = await createTaskSetting(app)
      const { task, workspaceTask } = await addTask(app, setting, { stages: ['post_plan'] })
      const run = await createRun(app, setting)
      const remove = (url: string) => app.request({ method: 'DELETE', url, token: setting.user.token })

      if (change === 'disabled') await patchTask(setting, task, { enabled: false })
      else await remove(`/api/v2/workspaces/${setting.workspaceId}/tasks/${workspaceTask}`)
      if (change === 'deleted') await remove(`/api/v2/tasks/${task}`)
      expect(await drive(setting, run)).toBe('applied')

      const [stage] = await readStages(app, setting, run)
      const result = await readResult(app, setting, stage.relationships['task-results'].data[0].id)
      expect(stage.attributes.status).toBe('passed')
      expect(result.attributes).toMatchObject({ status: 'canceled', 'workspace-task-enforcement-level': 'advisory' })
      expect(result.attributes.message).toContain(`was ${change}`)
      expect(setting.receiver.requests).toHaveLength(0)
    },
  )

  test('a task that is added later does not run', async () => {
    const setting = await createTaskSetting(app)
    const run = await createRun(app, setting)

    await addTask(app, setting, { stages: ['post_plan', 'pre_apply'] })

    expect(await drive(setting, run)).toBe('applied')
    expect(setting.receiver.requests).toHaveLength(0)
  })

  test('the tasks of a canceled run are canceled: callbacks are ignored, and nothing is retried', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan'] })
    setting.receiver.onRequest = (_, response) => response.writeHead(500).end()
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)

    expect((await actOnRun(app, setting, { run, action: 'cancel' })).status).toBe(202)

    expect((await readRun(app, setting, run)).attributes.status).toBe('canceled')
    expect((await stagesOf(setting, run)).map(([, status]: string[]) => status)).toEqual(['canceled', 'unreachable'])
    expect((await callBack(app, payload, { status: 'passed' })).status).toBe(401)
    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'canceled', message: 'the run was canceled', 'next-delivery-at': null })
  })
})

describe('the override of a stage', () => {
  test('is rejected: no task result awaits one', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    respondWith(setting, () => 'failed')
    const run = await createRun(app, setting)
    await runReaches(app, setting, { run, status: 'errored' })
    const [stage] = await readStages(app, setting, run)

    const response = await app.request({
      method: 'POST',
      url: `/api/v2/task-stages/${stage.id}/actions/override`,
      token: setting.user.token,
      body: { comment: 'let it pass' },
    })

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toContain('the task stage is failed')
  })
})
