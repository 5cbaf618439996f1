import { beforeAll, describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser, type TestUser } from '../../../testing/factories.ts'
import { createRun } from '../../../testing/runs.ts'
import { addTask, callBack, createTaskSetting, startDeliveries, type TaskSetting } from '../../../testing/task-runs.ts'
import { addMember } from '../../../testing/teams.ts'
import { loggedDeliveries, redeliver } from './testing/deliveries.ts'

const app = await createTestApp()
startDeliveries(app)

let setting: TaskSetting
let task: string
let organizationId: string
let first: { run: string; result: string }
let second: { run: string; result: string }

/** Two runs at a task: the first request was refused with 503, its redelivery and the second request were acknowledged. */
beforeAll(async () => {
  setting = await createTaskSetting(app)
  task = (await addTask(app, setting, { stages: ['pre_plan'] })).task
  const workspace = app.db.selectFrom('workspaces').select('organization_id').where('id', '=', setting.workspaceId)
  organizationId = (await workspace.executeTakeFirstOrThrow()).organization_id
  let status = 503
  setting.receiver.onRequest = async ({ payload }, response) => {
    // No automatic retry.
    if (status === 503) await callBack(app, payload, { status: 'running' })
    response.writeHead(status).end('thanks')
  }
  const run = await createRun(app, setting)
  const result = (await setting.receiver.received(1)).payload.task_result_id
  await loggedDeliveries(app, setting, { id: result, count: 1 })
  status = 200
  await redeliver(app, setting, result)
  await loggedDeliveries(app, setting, { id: result, count: 2 })
  first = { run, result }
  await callBack(app, (await setting.receiver.received(2)).payload, { status: 'failed' })
  const next = await createRun(app, setting)
  const nextResult = (await setting.receiver.received(3)).payload.task_result_id
  await loggedDeliveries(app, setting, { id: nextResult, count: 1 })
  second = { run: next, result: nextResult }
})

async function read(path: string, token = setting.user.token) {
  return app.request({ url: `/api/v2${path}`, token })
}

/** A member whose team has read access to the workspace, or to none. */
async function member(access?: 'read'): Promise<TestUser> {
  const user = await createUser(app)
  await addMember(app, organizationId, user)
  const workspaces = access ? { [setting.workspaceId]: access } : {}
  await createTeamWithAccess(app, { organizationId, members: [user], workspaces })
  return user
}

describe('the deliveries of a task', () => {
  test('are those of all runs, latest first, each with its run', async () => {
    const { data } = (await read(`/tasks/${task}/deliveries`)).json()

    expect(data).toHaveLength(3)
    expect(data.map(({ attributes }: any) => [attributes['run-id'], attributes.attempt, attributes.status])).toEqual([
      [second.run, 1, 'succeeded'],
      [first.run, 2, 'succeeded'],
      [first.run, 1, 'failed'],
    ])
    expect(data[2]).toMatchObject({
      attributes: {
        stage: 'pre_plan',
        'workspace-name': setting.workspaceName,
        'result-status': 'failed',
        error: 'the response was 503: only 200 acknowledges the request',
        request: { url: setting.receiver.url },
        response: { status: 503, body: 'thanks', 'is-withheld': false },
        permissions: { 'can-redeliver': true },
      },
      relationships: { 'task-result': { data: { id: first.result } } },
    })
  })

  test('can be filtered by status and are read page by page without a total', async () => {
    const failed = (await read(`/tasks/${task}/deliveries?filter[status]=failed`)).json()
    const page = (await read(`/tasks/${task}/deliveries?filter[status]=succeeded&page[size]=1`)).json()
    const last = (await read(`/tasks/${task}/deliveries?filter[status]=succeeded&page[size]=1&page[number]=2`)).json()

    expect(failed.data.map(({ attributes }: any) => attributes.response.status)).toEqual([503])
    expect(page.data[0].attributes['run-id']).toBe(second.run)
    expect(page.meta.pagination).toEqual({ 'current-page': 1, 'page-size': 1, 'prev-page': null, 'next-page': 2 })
    expect(last.data[0].attributes['run-id']).toBe(first.run)
    expect(last.meta.pagination['next-page']).toBeNull()
  })

  test('reject another status', async () => {
    const response = await read(`/tasks/${task}/deliveries?filter[status]=lost`)

    expect(response.status).toBe(422)
    expect(response.json().errors[0]).toMatchObject({
      detail: 'filter[status] is "lost"; it must be one of succeeded, failed',
      source: { parameter: 'filter[status]' },
    })
  })

  test('hide the exchange from members who may not read the run', async () => {
    const { token } = await member()

    const response = await read(`/tasks/${task}/deliveries`, token)

    expect(response.status).toBe(200)
    expect(response.json().data[2]).toMatchObject({
      attributes: {
        status: 'failed',
        request: null,
        response: { status: 503, headers: {}, body: '', 'is-withheld': true },
        stage: null,
        'run-id': null,
        'workspace-name': null,
        'result-status': null,
        permissions: { 'can-redeliver': false },
      },
      relationships: { 'task-result': { data: null } },
    })
    for (const secret of [first.run, first.result, setting.workspaceName, setting.workspaceId, 'thanks'])
      expect(response.text).not.toContain(secret)
  })

  test('show readers of the workspace the request, and no way to redeliver it', async () => {
    const { token } = await member('read')

    const [{ attributes }] = (await read(`/tasks/${task}/deliveries`, token)).json().data

    expect(attributes).toMatchObject({ 'run-id': second.run, permissions: { 'can-redeliver': false } })
    expect(JSON.parse(attributes.request.body).access_token).toBe('[redacted]')
  })

  test('do not exist for strangers', async () => {
    const { token } = await createUser(app)

    expect((await read(`/tasks/${task}/deliveries`, token)).status).toBe(404)
  })
})

describe('the health of a task', () => {
  test('summarises its last deliveries', async () => {
    const { data, included } = (await read(`/tasks/${task}?include=health`)).json()

    expect(data.relationships.health.data).toEqual({ id: task, type: 'task-healths' })
    expect(included[0].attributes).toMatchObject({
      recent: [false, true, true],
      succeeded: 2,
      failed: 1,
      'median-ms': expect.any(Number),
      'p95-ms': expect.any(Number),
      'last-error': 'the response was 503: only 200 acknowledges the request',
    })
  })

  test('covers 50 deliveries, and is part of lists on request only', async () => {
    const busy = (await addTask(app, setting, { stages: ['post_apply'] })).task
    const idle = (await addTask(app, setting, { stages: ['post_apply'] })).task
    await app.db
      .insertInto('task_deliveries')
      .values(
        Array.from({ length: 60 }, (_, index) => ({
          id: `taskdel-${index}`,
          task_result_id: first.result,
          task_id: busy,
          attempt: 100 + index,
          sent_at: new Date(app.clock.now().getTime() + index),
          duration_ms: index,
          url: setting.receiver.url,
          request_headers: '{}',
          request_body: '',
          response_status: index < 55 ? 200 : null,
          error: index < 55 ? null : `error ${index}`,
        })),
      )
      .execute()

    const path = `/organizations/${setting.organization}/tasks`
    const { included } = (await read(`${path}?include=health`)).json()
    const plain = (await read(path)).text
    const healthOf = (id: string) => included.find((health: { id: string }) => health.id === id).attributes

    expect(healthOf(busy)).toMatchObject({ succeeded: 45, failed: 5, 'median-ms': 32, 'p95-ms': 52 })
    expect(healthOf(busy)['last-error']).toBe('error 59')
    expect(healthOf(idle)).toEqual({
      recent: [],
      succeeded: 0,
      failed: 0,
      'median-ms': null,
      'p95-ms': null,
      'last-sent-at': null,
      'last-error': null,
      'last-error-at': null,
    })
    expect(plain).not.toContain('health')
  })
})
