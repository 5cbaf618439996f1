import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import {
  createWaitingRun,
  callBack,
  outcomesOf,
  readResult,
  startDeliveries,
  type TaskSetting,
} from '../../../testing/task-runs.ts'

/** INTERFACE §2: the body of a callback and its responses. */

const app = await createTestApp({
  GROUNDSTATE_BASE_URL: 'https://groundstate.example',
  GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
})
startDeliveries(app)

const get = async (setting: TaskSetting, url: string, token = setting.user.token) => app.request({ url, token })

describe('INTERFACE §2.6 the callback', () => {
  test.each(['passed', 'failed', 'running'])('with %s returns 200 and no content', async (status) => {
    const { payload } = await createWaitingRun(app)

    const response = await callBack(app, payload, { status })

    expect(response).toMatchObject({ status: 200, text: '' })
  })

  test.each([undefined, 'pending', 'errored', 'PASSED', 7])(
    'with the status %s is rejected with 422',
    async (status) => {
      const { payload } = await createWaitingRun(app)

      const response = await callBack(app, payload, { status })

      expect(response.status).toBe(422)
      expect(response.json().errors[0]).toMatchObject({
        status: '422',
        source: { pointer: '/data/attributes/status' },
      })
    },
  )

  test.each(['', '{', '[]', '{"data":{}}', '{"data":{"type":"runs","attributes":{"status":"passed"}}}'])(
    'with the body %s is rejected with 422',
    async (body) => {
      const { payload } = await createWaitingRun(app)

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

  test('without a body is rejected with the same message as on other routes', async () => {
    const { payload } = await createWaitingRun(app)

    const response = await app.request({
      method: 'PATCH',
      url: `/api/v2/task-results/${payload.task_result_id}/callback`,
      token: payload.access_token,
    })

    expect(response.json().errors[0]).toMatchObject({
      status: '422',
      detail: 'body is missing',
      source: { pointer: '' },
    })
  })

  test('without the token of this result is rejected with 401', async () => {
    const { payload, setting } = await createWaitingRun(app)
    const other = await createWaitingRun(app)
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
    const { payload, setting } = await createWaitingRun(app)

    await callBack(app, payload, { status: 'running', message: 'half way', url: 'https://receiver.example/1' })
    await callBack(app, payload, { status: 'passed' })

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'passed', message: 'half way', url: 'https://receiver.example/1' })
  })

  test.each([
    'nope',
    '//receiver.example/1',
    '/reports/1',
    'ftp://receiver.example/1',
    'javascript:alert(1)',
    'java\tscript:alert(1)',
    '\u0001javascript:alert(1)',
    'https://',
  ])('with %j for a URL is rejected with 422, in the result and in an outcome', async (url) => {
    const { payload, setting } = await createWaitingRun(app)

    const response = await callBack(app, payload, { status: 'passed', url })
    const ofOutcome = await callBack(app, payload, { status: 'passed' }, [{ 'outcome-id': 'A', description: 'd', url }])

    expect([response.status, ofOutcome.status]).toEqual([422, 422])
    expect(response.json().errors[0]).toMatchObject({
      detail: `url is ${JSON.stringify(url)}; it must be an http or https URL`,
      source: { pointer: '/data/attributes/url' },
    })
    expect(ofOutcome.json().errors[0].source.pointer).toBe('/data/relationships/outcomes/data/0/attributes/url')
    expect((await readResult(app, setting, payload.task_result_id)).attributes.status).toBe('running')
  })

  test.each(['', null, `https://receiver.example/reports?signature=${'a'.repeat(5000)}`])(
    'accepts a URL that is empty, null or long (%#)',
    async (url) => {
      const { payload, setting } = await createWaitingRun(app)

      const response = await callBack(app, payload, { status: 'running', url })

      expect(response.status).toBe(200)
      expect((await readResult(app, setting, payload.task_result_id)).attributes.url).toBe(url ?? '')
    },
  )

  test.each([
    ['message', { message: 'x'.repeat(65_537) }],
    ['url', { url: `https://receiver.example/${'x'.repeat(65_537)}` }],
  ])('with a too long %s is rejected with 422', async (name, attributes) => {
    const { payload, setting } = await createWaitingRun(app)

    const response = await callBack(app, payload, { status: 'failed', ...attributes })

    expect(response.status).toBe(422)
    expect(response.json().errors[0]).toMatchObject({
      detail: expect.stringContaining('is too long (maximum is 65536 characters)'),
      source: { pointer: `/data/attributes/${name}` },
    })
    expect((await readResult(app, setting, payload.task_result_id)).attributes.status).toBe('running')
  })

  test('replaces characters that cannot be stored', async () => {
    const { payload, setting } = await createWaitingRun(app)
    const outcome = (id: string) => ({
      'outcome-id': id,
      description: 'half \ud800',
      body: 'half \udc00',
      tags: { 'team\ud800': [{ label: 'net\ud800work' }] },
    })

    const response = await callBack(app, payload, { status: 'passed', message: '\0 \ud800' }, [
      outcome('A\ud800'),
      outcome('A\u{FFFD}'),
    ])

    expect(response.status).toBe(200)
    const { message } = (await readResult(app, setting, payload.task_result_id)).attributes
    expect(message).toBe('\u{FFFD} \u{FFFD}')
    const outcomes = await outcomesOf(app, setting, payload.task_result_id)
    expect(outcomes.map(({ attributes }: any) => attributes)).toMatchObject([
      {
        'outcome-id': 'A\u{FFFD}',
        description: 'half \u{FFFD}',
        tags: [{ label: 'team\u{FFFD}', value: [{ label: 'net\u{FFFD}work', level: 'none' }] }],
      },
    ])
  })

  test('merges outcomes by id with running, passed and failed', async () => {
    const { payload, setting } = await createWaitingRun(app)
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
    const passed = await createWaitingRun(app)
    await callBack(app, passed.payload, { status: 'passed' }, [{ 'outcome-id': 'B', description: 'tagged' }])

    expect(await outcomesOf(app, passed.setting, passed.payload.task_result_id)).toHaveLength(1)
    const outcomes = await outcomesOf(app, setting, id)
    expect(outcomes.map(({ attributes }: any) => attributes)).toMatchObject([
      {
        'outcome-id': 'A-1',
        description: 'open port 22',
        url: 'https://receiver.example/a',
        tags: [
          { label: 'Severity', value: [{ label: 'High', level: 'error' }] },
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

  test('accepts the alternative name of the relation, duplicate ids, and an empty list', async () => {
    const { payload, setting } = await createWaitingRun(app)
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
    const outcomes = await outcomesOf(app, setting, payload.task_result_id)
    expect(outcomes.map(({ attributes }: any) => attributes.description)).toEqual(['two'])
  })

  test.each([
    [{ description: 'no id' }, 'outcome-id'],
    [{ 'outcome-id': 'A' }, 'description'],
    [{ 'outcome-id': 'A', description: 'x', tags: { a: [{ level: 'info' }] } }, 'tags/a/0/label'],
    [{ 'outcome-id': 'A', description: 'x', tags: { a: [{ label: 'x', level: 'fatal' }] } }, 'tags/a/0/level'],
    [{ 'outcome-id': 'A', description: 'x', body: 'x'.repeat(5 * 1024 * 1024 + 1) }, 'body'],
  ])('with an invalid outcome is rejected with a pointer (%#)', async (outcome, pointer) => {
    const { payload, setting } = await createWaitingRun(app)

    const response = await callBack(app, payload, { status: 'passed' }, [outcome])

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe(`/data/relationships/outcomes/data/0/attributes/${pointer}`)
    expect((await readResult(app, setting, payload.task_result_id)).attributes.status).toBe('running')
  })

  test('accepts an outcome with any body of 5 MB', async () => {
    const { payload, setting } = await createWaitingRun(app)
    const body = `\0 "${'é'.repeat(5 * 512 * 1024 - 100)}"`

    const response = await callBack(app, payload, { status: 'passed' }, [
      { 'outcome-id': 'A', description: 'long \0', body },
    ])

    expect(response.status).toBe(200)
    const [outcome] = await outcomesOf(app, setting, payload.task_result_id)
    expect(outcome.attributes).toMatchObject({ description: 'long \u{FFFD}', 'has-body': true })
    const read = await get(setting, outcome.links.body)
    expect(read.text).toBe(body.replace('\0', '\u{FFFD}'))
  })
})
