import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { hmac } from '../../../testing/receiver.ts'
import { actOnRun, createRun, readRun } from '../../../testing/runs.ts'
import {
  addTask,
  createWaitingRun,
  callBack,
  createTaskSetting,
  runReaches,
  finishNextJob,
  startDeliveries,
} from '../../../testing/task-runs.ts'

/** INTERFACE §2: the request, its payload, timing, headers and signature. */

const app = await createTestApp({
  GROUNDSTATE_BASE_URL: 'https://groundstate.example',
  GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
})
startDeliveries(app)

describe('INTERFACE §2.3 the request payload', () => {
  test('has every key, and plan_json_api_url only where there is a plan', async () => {
    const setting = await createTaskSetting(app, { 'working-directory': 'live/eu' })
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan', 'pre_apply', 'post_apply'] })
    const run = await createRun(app, setting, { message: 'grow' })
    const step = async (index: number) => {
      const { payload } = await setting.receiver.received(index)
      expect((await callBack(app, payload, { status: 'passed' })).status).toBe(200)
      return payload
    }

    const prePlan = await step(1)
    await finishNextJob(setting.agent, run)
    const postPlan = await step(2)
    await runReaches(app, setting, { run, status: 'post_plan_completed' })
    await actOnRun(app, setting, { run, action: 'apply' })
    const preApply = await step(3)
    await finishNextJob(setting.agent, run)
    const postApply = await step(4)

    const api = 'https://groundstate.example/api/v2'
    const { id: planId } = (await readRun(app, setting, run)).relationships.plan.data
    const workspaceUrl = `https://groundstate.example/app/${setting.organization}/workspaces/${setting.workspaceName}`
    const common = {
      payload_version: 1,
      capabilities: { outcomes: true },
      configuration_version_download_url: `${api}/configuration-versions/${setting.configurationVersionId}/download`,
      configuration_version_id: setting.configurationVersionId,
      is_speculative: false,
      organization_name: setting.organization,
      run_app_url: `${workspaceUrl}/runs/${run}`,
      run_created_at: (await readRun(app, setting, run)).attributes['created-at'],
      run_created_by: setting.user.username,
      run_id: run,
      run_message: 'grow',
      task_result_enforcement_level: 'mandatory',
      vcs_branch: null,
      vcs_commit_url: null,
      vcs_pull_request_url: null,
      vcs_repo_url: null,
      workspace_app_url: workspaceUrl,
      workspace_id: setting.workspaceId,
      workspace_name: setting.workspaceName,
      workspace_working_directory: 'live/eu',
    }
    const own = (payload: typeof prePlan) => ({
      access_token: payload.access_token,
      task_result_id: payload.task_result_id,
      task_result_callback_url: `${api}/task-results/${payload.task_result_id}/callback`,
    })
    const plan = { plan_json_api_url: `${api}/plans/${planId}/json-output` }
    expect(prePlan).toEqual({ ...common, ...own(prePlan), stage: 'pre_plan' })
    expect(postPlan).toEqual({ ...common, ...own(postPlan), ...plan, stage: 'post_plan' })
    expect(preApply).toEqual({ ...common, ...own(preApply), ...plan, stage: 'pre_apply' })
    expect(postApply).toEqual({ ...common, ...own(postApply), ...plan, stage: 'post_apply' })
    expect(new Set([prePlan, postPlan, preApply, postApply].map((payload) => payload.access_token)).size).toBe(4)
    await runReaches(app, setting, { run, status: 'applied' })
  })

  test('has the flag of a speculative run', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'], level: 'advisory' })

    await createRun(app, setting, { 'plan-only': true })

    const { payload } = await setting.receiver.received(1)
    expect(payload).toMatchObject({ is_speculative: true, task_result_enforcement_level: 'advisory' })
  })

  test('has an empty working directory when none is set', async () => {
    const { payload } = await createWaitingRun(app)

    expect(payload.workspace_working_directory).toBe('')
  })
})

describe('INTERFACE §2.1 the event', () => {
  test('is sent when a run reaches a stage with a task, and for no other stage', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    await addTask(app, setting, { stages: ['post_apply'] })

    const run = await createRun(app, setting)
    const before = setting.receiver.requests.length
    await finishNextJob(setting.agent, run)
    const { payload } = await setting.receiver.received(1)
    await callBack(app, payload, { status: 'passed' })
    await actOnRun(app, setting, { run, action: 'apply' })
    await finishNextJob(setting.agent, run)
    await setting.receiver.received(2)

    expect(before).toBe(0)
    expect(setting.receiver.requests.map(({ payload }) => payload.stage)).toEqual(['post_plan', 'post_apply'])
  })
})

describe('INTERFACE §2.2 and §2.4 the request', () => {
  test('is a POST to the URL of the task with the headers of the interface', async () => {
    const { asked } = await createWaitingRun(app)

    expect(asked).toMatchObject({ method: 'POST', path: '/task' })
    expect(asked.headers['content-type']).toBe('application/json')
    expect(asked.headers['user-agent']).toBe('Groundstate/1.0 (+https://groundstate.example; Groundstate)')
  })

  test('is signed with the key of the task under both names', async () => {
    const { asked } = await createWaitingRun(app, { 'hmac-key': 'key' })

    expect(asked.headers['x-svc-task-signature']).toBe(hmac(asked.body, 'key'))
    expect(asked.headers['x-tfc-task-signature']).toBe(hmac(asked.body, 'key'))
  })

  test('has an empty signature without a key', async () => {
    const { asked } = await createWaitingRun(app)

    expect(asked.headers['x-svc-task-signature']).toBe('')
    expect(asked.headers['x-tfc-task-signature']).toBe('')
  })

  test('is compact JSON that survives a round trip', async () => {
    const { asked } = await createWaitingRun(app, { 'hmac-key': 'key' })

    expect(JSON.stringify(JSON.parse(asked.body))).toBe(asked.body)
  })
})
