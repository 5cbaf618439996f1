import { describe, expect, test } from 'vitest'
import { takesNoToken } from '../../../http/route-access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createRun, readRun } from '../../../testing/runs.ts'
import {
  addTask,
  createWaitingRun,
  callBack,
  createTaskSetting,
  outcomesOf,
  finishNextJob,
  startDeliveries,
  type TaskSetting,
} from '../../../testing/task-runs.ts'

/** Access of a result's token, and access to results. */

const app = await createTestApp({
  GROUNDSTATE_BASE_URL: 'https://groundstate.example',
  GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
})
startDeliveries(app)

const get = async (setting: TaskSetting, url: string, token = setting.user.token) => app.request({ url, token })

describe('INTERFACE §2.7 and §2.6 the access token', () => {
  test('can read the plan and the configuration of its run until the result is final', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    const run = await createRun(app, setting)
    await finishNextJob(setting.agent, run, { format_version: '1.2', resource_changes: [] })
    const { payload } = await setting.receiver.received(1)
    const path = (url: string | null | undefined) => new URL(url ?? '').pathname
    const plan = path(payload.plan_json_api_url)
    const configuration = path(payload.configuration_version_download_url)

    expect((await get(setting, plan, payload.access_token)).json()).toEqual({
      format_version: '1.2',
      resource_changes: [],
    })
    expect((await get(setting, configuration, payload.access_token)).status).toBe(200)
    await callBack(app, payload, { status: 'passed' })

    expect((await get(setting, plan, payload.access_token)).status).toBe(401)
    expect((await get(setting, configuration, payload.access_token)).status).toBe(401)
  })

  test('is deleted with the workspace', async () => {
    const { payload, setting } = await createWaitingRun(app)
    const { task_result_id: id } = payload

    const deleted = await app.request({
      method: 'DELETE',
      url: `/api/v2/workspaces/${setting.workspaceId}`,
      token: setting.user.token,
    })

    expect(deleted.status).toBe(204)
    expect((await callBack(app, payload, { status: 'passed' })).status).toBe(401)
    expect(await app.db.selectFrom('tokens').select('id').where('task_result_id', '=', id).execute()).toEqual([])
  })

  test('gives no access to another run', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    const other = { ...setting, ...(await createTaskSetting(app)) }
    const run = await createRun(app, other)
    await finishNextJob(other.agent, run)
    const asking = await createRun(app, setting)
    await finishNextJob(setting.agent, asking)
    const { payload } = await setting.receiver.received(1)
    const { id: planId } = (await readRun(app, other, run)).relationships.plan.data

    for (const url of [
      `/api/v2/plans/${planId}/json-output`,
      `/api/v2/configuration-versions/${other.configurationVersionId}/download`,
    ]) {
      expect((await get(setting, url, payload.access_token)).status).toBe(404)
    }
  })

  test('is rejected by all other routes', async () => {
    const { payload, setting, run } = await createWaitingRun(app)
    const { relationships } = await readRun(app, setting, run)
    const values: Record<string, string> = {
      runId: run,
      workspaceId: setting.workspaceId,
      organization: setting.organization,
      planId: relationships.plan.data.id,
      name: setting.workspaceName,
    }
    const opened: string[] = []
    for (const { method, url, options } of app.server.routes) {
      if (takesNoToken(options.access) || url.endsWith('/callback')) continue
      const named = url.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? idFor(url, setting))
      const request = { url: named, method: method as 'GET', token: payload.access_token }
      const response = await app.request(request)
      if (response.status !== 401) opened.push(`${method} ${url}`)
    }

    expect(opened.sort()).toEqual([
      'GET /api/v2/configuration-versions/:id/download',
      'GET /api/v2/plans/:planId/json-output',
      'GET /api/v2/runs/:runId/configuration-version/download',
      'GET /api/v2/runs/:runId/plan/json-output',
    ])
  })

  function idFor(url: string, setting: TaskSetting) {
    if (url.includes('/configuration-versions/')) return setting.configurationVersionId
    if (url.includes('/workspaces/')) return setting.workspaceId
    return setting.user.id
  }
})

describe('reading results', () => {
  test('requires the permission to read the run', async () => {
    const { payload, setting, run } = await createWaitingRun(app)
    const stranger = await createUser(app)
    const stages = (await get(setting, `/api/v2/runs/${run}/task-stages`)).json().data
    await callBack(app, payload, { status: 'running' }, [{ 'outcome-id': 'A', description: 'x', body: 'y' }])
    const [outcome] = await outcomesOf(app, setting, payload.task_result_id)

    const paths = [
      `/task-results/${payload.task_result_id}`,
      `/task-results/${payload.task_result_id}/outcomes`,
      `/task-results/${payload.task_result_id}/body`,
      `/task-results/${payload.task_result_id}/deliveries`,
      `/task-result-outcomes/${outcome.id}`,
      `/task-result-outcomes/${outcome.id}/body`,
      `/task-stages/${stages[0].id}`,
      `/runs/${run}/task-stages`,
    ]
    for (const path of paths) {
      const readable = await get(setting, `/api/v2${path}`)
      const hidden = await get(setting, `/api/v2${path}`, stranger.token)
      expect({ path, statuses: [readable.status, hidden.status] }).toEqual({ path, statuses: [200, 404] })
    }
  })
})
