import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { backoff } from '../../../deliveries/attempts.ts'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createRun } from '../../../testing/runs.ts'
import {
  addTask,
  callBack,
  createTaskSetting,
  readResult,
  runReaches,
  startDeliveries,
} from '../../../testing/task-runs.ts'
import { addMember } from '../../../testing/teams.ts'
import { loggedDeliveries, readDeliveries, redeliver, requestedRun } from './testing/deliveries.ts'

const app = await createTestApp()
startDeliveries(app)

describe('INTERFACE §2.5 the delivery of a request', () => {
  test('a request without a 200 is retried within two seconds', async () => {
    const tryAgain = async (status: number) => {
      let calls = 0
      const { setting, id } = await requestedRun(app, {}, ({ receiver }) => {
        receiver.onRequest = (_, response) => {
          calls += 1
          response.writeHead(calls === 1 ? status : 200, { location: '/' }).end()
        }
      })
      const second = await setting.receiver.received(2)
      const rows = await loggedDeliveries(app, setting, { id, count: 2 })
      return { first: setting.receiver.requests[0], second, rows, status }
    }

    const tries = await Promise.all([201, 204, 302, 400, 404, 500, 503].map(tryAgain))

    for (const { first, second, rows, status } of tries) {
      expect(second.at - (first?.at ?? 0)).toBeGreaterThan(400)
      const { 'next-attempt-at': due, 'sent-at': sent, 'duration-ms': durationMs } = rows[1].attributes
      expect(Date.parse(due) - Date.parse(sent) - durationMs).toBeLessThan(2000)
      expect(second.body).toBe(first?.body)
      expect(rows.map(({ attributes }: any) => attributes.response.status)).toEqual([200, status])
      const redirect = status === 302 ? ', and redirects are not followed' : ''
      expect(rows.map(({ attributes }: any) => attributes.error)).toEqual([
        null,
        `the response was ${status}: only 200 acknowledges the request${redirect}`,
      ])
    }
  })

  test('a request is retried after a dropped connection', async () => {
    let calls = 0
    const { setting, id } = await requestedRun(app, {}, ({ receiver }) => {
      receiver.onRequest = (_, response) => {
        calls += 1
        if (calls === 1) response.destroy()
        else response.end()
      }
    })

    await setting.receiver.received(2)

    const rows = await loggedDeliveries(app, setting, { id, count: 2 })
    expect(rows[1].attributes.response).toBeNull()
    expect(rows[1].attributes.error).toContain('the connection was closed before a response arrived')
    expect(rows[1].attributes['next-attempt-at']).not.toBeNull()
  })

  test('a request is not retried after a callback, regardless of its response', async () => {
    const { setting, id } = await requestedRun(app, {}, ({ receiver }) => {
      receiver.onRequest = async ({ payload }, response) => {
        await callBack(app, payload, { status: 'running' })
        response.writeHead(500).end()
      }
    })

    const [row] = await loggedDeliveries(app, setting, { id, count: 1 })

    expect(row.attributes['next-attempt-at']).toBeNull()
    expect((await readResult(app, setting, id)).attributes['next-delivery-at']).toBeNull()
  })

  test('an undelivered request ends at the deadline, and the run shows the reason', async () => {
    const { setting, id, run } = await requestedRun(app, {}, ({ receiver }) => {
      receiver.onRequest = (_, response) => response.writeHead(502).end('bad gateway')
    })
    await loggedDeliveries(app, setting, { id, count: 1 })

    app.clock.advance(600_000)
    await runReaches(app, setting, { run, status: 'errored' })

    const { attributes } = await readResult(app, setting, id)
    expect(attributes.message).toMatch(
      /^no callback within 10 minutes, and the request was not delivered in \d attempts?: the response was 502$/,
    )
  })
})

describe('pauses', () => {
  test('are at most a second, double up to a minute, and are spread', () => {
    const longest = [1, 2, 3, 4, 7, 20].map((attempt) => backoff(attempt, 1))
    expect(longest).toEqual([1000, 2000, 4000, 8000, 60_000, 60_000])
    expect(backoff(1, 0)).toBe(500)
  })
})

describe('the delivery log', () => {
  test('shows the request and its response, without the secrets', async () => {
    const { setting, id, payload } = await requestedRun(app, { 'hmac-key': 'top-secret' }, ({ receiver }) => {
      receiver.onRequest = ({ payload }, response) =>
        response.writeHead(200, { 'set-cookie': 'session=1', 'x-echo': payload.access_token }).end(payload.access_token)
    })

    const [row] = await loggedDeliveries(app, setting, { id, count: 1 })

    const { attributes } = row
    expect(row).toMatchObject({ type: 'task-deliveries', relationships: { 'task-result': { data: { id } } } })
    expect(attributes).toMatchObject({ attempt: 1, error: null, 'next-attempt-at': null })
    expect(attributes['duration-ms']).toBeGreaterThanOrEqual(0)
    expect(attributes.request).toMatchObject({ method: 'POST', url: setting.receiver.url })
    expect(JSON.parse(attributes.request.body)).toEqual({ ...payload, access_token: '[redacted]' })
    expect(attributes.request.headers['X-TFC-Task-Signature']).toMatch(/^[0-9a-f]{128}$/)
    expect(attributes.response).toMatchObject({
      status: 200,
      headers: { 'set-cookie': '[redacted]', 'x-echo': '[redacted]' },
      body: '[redacted]',
      'is-truncated': false,
    })
    expect(JSON.stringify(row)).not.toContain(payload.access_token)
    expect(JSON.stringify(row)).not.toContain('top-secret')
  })

  test('hides responses from private addresses except from site administrators', async () => {
    const { setting, id } = await requestedRun(app, {}, ({ receiver }) => {
      receiver.onRequest = (_, response) => response.writeHead(503, { 'x-why': 'tired' }).end('later')
    })
    await loggedDeliveries(app, setting, { id, count: 1 })
    const reader = await createUser(app)
    const { organization_id: organizationId } = await app.db
      .selectFrom('workspaces')
      .select('organization_id')
      .where('id', '=', setting.workspaceId)
      .executeTakeFirstOrThrow()
    await addMember(app, organizationId, reader)
    await createTeamWithAccess(app, {
      organizationId,
      members: [reader],
      workspaces: { [setting.workspaceId]: 'read' },
    })

    const [row] = await readDeliveries(app, { user: reader }, id)

    expect(row.attributes).toMatchObject({
      request: { url: setting.receiver.url },
      response: { status: 503, headers: {}, body: '', 'is-truncated': false, 'is-withheld': true },
      error: 'the response was 503: only 200 acknowledges the request',
    })
  })

  test('keeps 64 KB of a response', async () => {
    const { setting, id } = await requestedRun(app, {}, ({ receiver }) => {
      receiver.onRequest = (_, response) => response.end('x'.repeat(200_000))
    })

    const [row] = await loggedDeliveries(app, setting, { id, count: 1 })

    expect(row.attributes.response.body).toHaveLength(64 * 1024)
    expect(row.attributes.response['is-truncated']).toBe(true)
  })

  test('reports a refused connection', async () => {
    const server = createServer((_, response) => response.end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const setting = await createTaskSetting(app)
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
    await addTask(app, setting, { stages: ['pre_plan'], url })
    server.closeAllConnections()
    server.close()

    const run = await createRun(app, setting)
    const stages = (await app.request({ url: `/api/v2/runs/${run}/task-stages`, token: setting.user.token })).json()
      .data
    const [row] = await loggedDeliveries(app, setting, {
      id: stages[0].relationships['task-results'].data[0].id,
      count: 1,
    })

    expect(row.attributes.error).toContain('nothing is listening there')
  })
})

describe('redelivery', () => {
  test('sends the request once more, with the same body', async () => {
    const { setting, id } = await requestedRun(app)
    await loggedDeliveries(app, setting, { id, count: 1 })

    const response = await redeliver(app, setting, id)

    expect(response.status).toBe(200)
    const second = await setting.receiver.received(2)
    expect(second.body).toBe(setting.receiver.requests[0]?.body)
    await loggedDeliveries(app, setting, { id, count: 2 })
  })

  test('is rejected while the request is being delivered, and when the result is final', async () => {
    let finish = () => {}
    const { setting, id, payload } = await requestedRun(app, {}, ({ receiver }) => {
      receiver.onRequest = (_, response) => {
        finish = () => response.end()
      }
    })

    const early = await redeliver(app, setting, id)
    finish()
    await loggedDeliveries(app, setting, { id, count: 1 })
    await callBack(app, payload, { status: 'passed' })
    const late = await redeliver(app, setting, id)

    expect(early.status).toBe(409)
    expect(early.json().errors[0].detail).toContain('is being delivered')
    expect(late.status).toBe(409)
    expect(late.json().errors[0].detail).toContain('passed')
  })
})
