import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../testing/app.ts'
import { createUser } from '../../testing/factories.ts'
import { hmac } from '../../testing/receiver.ts'
import { act, createRun, readRun } from '../../testing/runs.ts'
import {
  addTask,
  callBack,
  createTaskSetting,
  readResult,
  runReaches,
  startDeliveries,
  type TaskSetting,
  work,
} from '../../testing/task-runs.ts'

/** One test for each statement of the specification about the request, the callback and their rules. */

const app = await createTestApp({ GROUNDSTATE_BASE_URL: 'https://groundstate.example' })
startDeliveries(app)

/** A run that waits for its first task, and the request about it. */
async function askedRun(
  options: Partial<Parameters<typeof addTask>[2]> = {},
  attributes: Record<string, unknown> = {},
) {
  const setting = await createTaskSetting(app, attributes)
  await addTask(app, setting, { stages: ['pre_plan'], ...options })
  const run = await createRun(app, setting, { message: 'Grow the \u2028 "cluster" <&>' })
  const asked = await setting.receiver.received(1)
  return { setting, run, asked, payload: asked.payload }
}

const get = async (setting: TaskSetting, url: string, token = setting.user.token) => app.request({ url, token })
const outcomesOf = async (setting: TaskSetting, id: string) =>
  (await get(setting, `/api/v2/task-results/${id}/outcomes`)).json().data

describe('§2.1 the request payload', () => {
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
    await work(setting.agent, run)
    const postPlan = await step(2)
    await runReaches(app, setting, { run, status: 'post_plan_completed' })
    await act(app, setting, { run, action: 'apply' })
    const preApply = await step(3)
    await work(setting.agent, run)
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

  test('tells a speculative run', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'], level: 'advisory' })

    await createRun(app, setting, { 'plan-only': true })

    const { payload } = await setting.receiver.received(1)
    expect(payload).toMatchObject({ is_speculative: true, task_result_enforcement_level: 'advisory' })
  })

  test('has an empty working directory when none is set', async () => {
    const { payload } = await askedRun()

    expect(payload.workspace_working_directory).toBe('')
  })
})

describe('§6 the event', () => {
  test('is sent when a run reaches a stage with a task, and for no other stage', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    await addTask(app, setting, { stages: ['post_apply'] })

    const run = await createRun(app, setting)
    const before = setting.receiver.requests.length
    await work(setting.agent, run)
    const { payload } = await setting.receiver.received(1)
    await callBack(app, payload, { status: 'passed' })
    await act(app, setting, { run, action: 'apply' })
    await work(setting.agent, run)
    await setting.receiver.received(2)

    expect(before).toBe(0)
    expect(setting.receiver.requests.map(({ payload }) => payload.stage)).toEqual(['post_plan', 'post_apply'])
  })
})

describe('§4.1 and §5.4 the request', () => {
  test('is a POST to the URL of the task with the headers of the interface', async () => {
    const { asked } = await askedRun()

    expect(asked).toMatchObject({ method: 'POST', path: '/task' })
    expect(asked.headers['content-type']).toBe('application/json')
    expect(asked.headers['user-agent']).toBe('Groundstate/1.0 (+https://groundstate.example; Groundstate)')
  })

  test('is signed with the key of the task under both names', async () => {
    const { asked } = await askedRun({ 'hmac-key': 'key' })

    expect(asked.headers['x-svc-task-signature']).toBe(hmac(asked.body, 'key'))
    expect(asked.headers['x-tfc-task-signature']).toBe(hmac(asked.body, 'key'))
  })

  test('has an empty signature without a key', async () => {
    const { asked } = await askedRun()

    expect(asked.headers['x-svc-task-signature']).toBe('')
    expect(asked.headers['x-tfc-task-signature']).toBe('')
  })

  test('is compact JSON that parsing and serialising leaves as it is', async () => {
    const { asked } = await askedRun({ 'hmac-key': 'key' })

    expect(JSON.stringify(JSON.parse(asked.body))).toBe(asked.body)
  })
})

describe('§2.2 and §4.2 the callback', () => {
  test.each(['passed', 'failed', 'running'])('with %s is answered with 200 and no content', async (status) => {
    const { payload } = await askedRun()

    const response = await callBack(app, payload, { status })

    expect(response).toMatchObject({ status: 200, text: '' })
  })

  test.each([undefined, 'pending', 'errored', 'PASSED', 7])(
    'with the status %s is refused with 422',
    async (status) => {
      const { payload } = await askedRun()

      const response = await callBack(app, payload, { status })

      expect(response.status).toBe(422)
      expect(response.json().errors[0]).toMatchObject({
        status: '422',
        source: { pointer: '/data/attributes/status' },
      })
    },
  )

  test.each(['', '{', '[]', '{"data":{}}', '{"data":{"type":"runs","attributes":{"status":"passed"}}}'])(
    'with the body %s is refused with 422',
    async (body) => {
      const { payload } = await askedRun()

      const response = await app.request({
        method: 'PATCH',
        url: `/api/v2/task-results/${payload.task_result_id}/callback`,
        token: payload.access_token,
        headers: { 'content-type': 'application/vnd.api+json' },
        body,
      })

      expect(response.status).toBe(422)
    },
  )

  test('without the token of this result is refused with 401', async () => {
    const { payload, setting } = await askedRun()
    const other = await askedRun()
    const { task_result_id } = payload

    for (const access_token of ['wrong', 'test-token', setting.user.token, other.payload.access_token]) {
      const response = await callBack(app, { task_result_id, access_token }, { status: 'passed' })
      expect(response.status).toBe(401)
      expect(response.json().errors[0].status).toBe('401')
    }
    const url = `/api/v2/task-results/${task_result_id}/callback`
    expect((await app.request({ method: 'PATCH', url, body: {} })).status).toBe(401)
    expect((await readResult(app, setting, task_result_id)).attributes.status).toBe('running')
  })

  test('keeps message and URL, and an absent message keeps the old one', async () => {
    const { payload, setting } = await askedRun()

    await callBack(app, payload, { status: 'running', message: 'half way', url: 'https://receiver.example/1' })
    await callBack(app, payload, { status: 'passed' })

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'passed', message: 'half way', url: 'https://receiver.example/1' })
  })

  test('with a URL that would run something is refused', async () => {
    const { payload } = await askedRun()

    const response = await callBack(app, payload, { status: 'passed', url: 'javascript:alert(1)' })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toBe('url is "javascript:alert(1)", it must be an http or https URL')
  })

  test('brings outcomes with running, passed and failed, which merge by their id', async () => {
    const { payload, setting } = await askedRun()
    const id = payload.task_result_id
    const first = {
      'outcome-id': 'A-1',
      description: 'open port',
      body: '# Port 22',
      url: 'https://receiver.example/a',
      tags: { Severity: [{ label: 'High', level: 'error' }], team: [{ label: 'network' }] },
    }

    await callBack(app, payload, { status: 'running' }, [first, { 'outcome-id': 'A-2', description: 'open bucket' }])
    await callBack(app, payload, { status: 'failed' }, [{ 'outcome-id': 'A-1', description: 'open port 22' }])
    const passed = await askedRun()
    await callBack(app, passed.payload, { status: 'passed' }, [{ 'outcome-id': 'B', description: 'tagged' }])

    expect(await outcomesOf(passed.setting, passed.payload.task_result_id)).toHaveLength(1)
    const outcomes = await outcomesOf(setting, id)
    expect(outcomes.map(({ attributes }: any) => attributes)).toMatchObject([
      {
        'outcome-id': 'A-1',
        description: 'open port 22',
        url: 'https://receiver.example/a',
        tags: [
          { label: 'severity', value: [{ label: 'High', level: 'error' }] },
          { label: 'team', value: [{ label: 'network', level: 'none' }] },
        ],
      },
      { 'outcome-id': 'A-2', description: 'open bucket', url: null, tags: [] },
    ])
    expect((await readResult(app, setting, id)).attributes['task-result-outcomes-count']).toBe(2)
    const one = await get(setting, `/api/v2/task-result-outcomes/${outcomes[0].id}`)
    expect(one.json().data).toEqual(outcomes[0])
    expect(one.json().data.relationships['task-result'].data.id).toBe(id)
    expect((await get(setting, `/api/v2/task-result-outcomes/${outcomes[0].id}/body`)).text).toBe('# Port 22')
    expect((await get(setting, `/api/v2/task-results/${id}/body`)).text).toContain('# Port 22')
  })

  test('accepts the other name of the relation, several of one id, and an empty list', async () => {
    const { payload, setting } = await askedRun()
    const outcome = (description: string) => ({
      type: 'task-result-outcomes',
      attributes: { 'outcome-id': 'A', description },
    })

    const response = await app.request({
      method: 'PATCH',
      url: `/api/v2/task-results/${payload.task_result_id}/callback`,
      token: payload.access_token,
      body: {
        data: {
          type: 'task-results',
          attributes: { status: 'running' },
          relationships: {
            outcomes: { data: [] },
            'task-result-outcomes': { data: [outcome('one'), outcome('two')] },
          },
        },
      },
    })

    expect(response.status).toBe(200)
    const outcomes = await outcomesOf(setting, payload.task_result_id)
    expect(outcomes.map(({ attributes }: any) => attributes.description)).toEqual(['two'])
  })

  test.each([
    [{ description: 'no id' }, 'outcome-id'],
    [{ 'outcome-id': 'A' }, 'description'],
    [{ 'outcome-id': 'A', description: 'x', tags: { a: [{ level: 'info' }] } }, 'tags/a/0/label'],
    [{ 'outcome-id': 'A', description: 'x', tags: { a: [{ label: 'x', level: 'fatal' }] } }, 'tags/a/0/level'],
    [{ 'outcome-id': 'A', description: 'x', body: 'x'.repeat(5 * 1024 * 1024 + 1) }, 'body'],
  ])('with a bad outcome is refused with a pointer (%#)', async (outcome, pointer) => {
    const { payload, setting } = await askedRun()

    const response = await callBack(app, payload, { status: 'passed' }, [outcome])

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe(`/data/relationships/outcomes/data/0/attributes/${pointer}`)
    expect((await readResult(app, setting, payload.task_result_id)).attributes.status).toBe('running')
  })

  test('takes an outcome with a body of 5 MB, whatever is in it', async () => {
    const { payload, setting } = await askedRun()
    const body = `\0 "${'é'.repeat(5 * 512 * 1024 - 100)}"`

    const response = await callBack(app, payload, { status: 'passed' }, [
      { 'outcome-id': 'A', description: 'long \0', body },
    ])

    expect(response.status).toBe(200)
    const [outcome] = await outcomesOf(setting, payload.task_result_id)
    expect(outcome.attributes).toMatchObject({ description: 'long \u{FFFD}', 'has-body': true })
    const read = await get(setting, outcome.links.body)
    expect(read.text).toBe(body.replace('\0', '\u{FFFD}'))
  })
})

describe('§3.2 the status of a result', () => {
  test('is pending until its stage is reached, then running, then final', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan'] })
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)
    const stages = (await get(setting, `/api/v2/runs/${run}/task-stages`)).json().data
    const later = stages[1].relationships['task-results'].data[0].id

    const status = async (id: string) => (await readResult(app, setting, id)).attributes.status
    expect(await status(payload.task_result_id)).toBe('running')
    expect(await status(later)).toBe('pending')
    await callBack(app, payload, { status: 'running' })
    expect(await status(payload.task_result_id)).toBe('running')
    await callBack(app, payload, { status: 'passed' })

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes.status).toBe('passed')
    expect(Object.keys(attributes['status-timestamps'])).toEqual(['passed-at', 'pending-at', 'running-at'])
  })

  test('takes no callback once it is final: the token is dead', async () => {
    const { payload, setting } = await askedRun()
    await callBack(app, payload, { status: 'passed' })

    const late = await callBack(app, payload, { status: 'failed' })

    expect(late.status).toBe(401)
    expect((await readResult(app, setting, payload.task_result_id)).attributes.status).toBe('passed')
  })

  test('is decided by the first of two final callbacks at once, the other one is 401 or 409', async () => {
    const { payload } = await askedRun()

    const answers = await Promise.all(
      ['passed', 'failed', 'passed', 'failed'].map((status) => callBack(app, payload, { status })),
    )

    const statuses = answers.map((answer) => answer.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.every((status) => [200, 401, 409].includes(status))).toBe(true)
  })
})

describe('§5.3 and §4.2 the access token', () => {
  test('opens the plan and the configuration of its run, and dies with the result', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    const run = await createRun(app, setting)
    await work(setting.agent, run, { format_version: '1.2', resource_changes: [] })
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

  test('opens nothing of another run', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    const other = { ...setting, ...(await createTaskSetting(app)) }
    const run = await createRun(app, other)
    await work(other.agent, run)
    const asking = await createRun(app, setting)
    await work(setting.agent, asking)
    const { payload } = await setting.receiver.received(1)
    const { id: planId } = (await readRun(app, other, run)).relationships.plan.data

    for (const url of [
      `/api/v2/plans/${planId}/json-output`,
      `/api/v2/configuration-versions/${other.configurationVersionId}/download`,
    ]) {
      expect((await get(setting, url, payload.access_token)).status).toBe(404)
    }
  })

  test('opens no other route', async () => {
    const { payload, setting, run } = await askedRun()
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
      if (options.access === 'public' || url.endsWith('/callback')) continue
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

describe('§7 and §8 the deadline', () => {
  test('is ten minutes from the request: the result is errored then', async () => {
    const { payload, setting, run } = await askedRun()
    const due = (await readResult(app, setting, payload.task_result_id)).attributes['deadline-at']
    const since = (await readResult(app, setting, payload.task_result_id)).attributes['status-timestamps']['running-at']

    expect(new Date(due).getTime() - new Date(since).getTime()).toBe(600_000)
    app.clock.advance(600_001)
    await runReaches(app, setting, { run, status: 'errored' })

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'errored', message: 'no callback came within 10 minutes' })
    expect((await callBack(app, payload, { status: 'passed' })).status).toBe(401)
  })

  test('is put off by a running callback, ten minutes at a time and sixty in all', async () => {
    const { payload, setting, run } = await askedRun()

    for (let minutes = 0; minutes < 54; minutes += 9) {
      app.clock.advance(9 * 60_000)
      expect((await callBack(app, payload, { status: 'running' })).status).toBe(200)
    }
    const { attributes } = await readResult(app, setting, payload.task_result_id)
    const since = new Date(attributes['status-timestamps']['running-at']).getTime()
    expect(new Date(attributes['deadline-at']).getTime() - since).toBe(3_600_000)
    app.clock.advance(6 * 60_000 + 1000)
    await runReaches(app, setting, { run, status: 'errored' })

    const { message } = (await readResult(app, setting, payload.task_result_id)).attributes
    expect(message).toContain('no further callback came')
  })
})

describe('reading results', () => {
  test('takes the permission to read the run', async () => {
    const { payload, setting, run } = await askedRun()
    const stranger = await createUser(app)
    const stages = (await get(setting, `/api/v2/runs/${run}/task-stages`)).json().data
    await callBack(app, payload, { status: 'running' }, [{ 'outcome-id': 'A', description: 'x', body: 'y' }])
    const [outcome] = await outcomesOf(setting, payload.task_result_id)

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
