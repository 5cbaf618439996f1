import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createUser, type TestUser } from '../../../testing/factories.ts'
import { createFailedJob } from '../../../testing/failed-jobs.ts'

let app: TestApp
let admin: TestUser
beforeAll(async () => {
  app = await createTestApp()
  admin = await createUser(app, { isSiteAdmin: true })
})
beforeEach(() => sql`delete from pgboss.job`.execute(app.db))

async function send(method: 'GET' | 'POST', path: string) {
  const response = await app.request({ method, url: `/api/v2/admin/failed-jobs${path}`, token: admin.token })
  return { status: response.status, body: response.json() }
}
const states = async () =>
  (await sql<{ state: string }>`select state from pgboss.job order by created_on`.execute(app.db)).rows.map(
    ({ state }) => state,
  )

test('are listed by pages with their error, the latest first, without stack traces', async () => {
  await createFailedJob(app, { id: 'sv-older' })
  const latest = await createFailedJob(app, { id: 'sv-latest', error: 'the bucket is gone' })

  const { body } = await send('GET', '?page[size]=1&filter[kind]=state-versions.extract')
  const none = await send('GET', '?filter[kind]=run.advance')

  expect(body.data).toMatchObject([
    {
      id: latest,
      attributes: {
        kind: 'state-versions.extract',
        subjects: ['sv-latest'],
        error: 'the bucket is gone',
        attempts: 11,
      },
    },
  ])
  expect(body.meta.pagination['total-count']).toBe(2)
  expect(none.body.data).toEqual([])
})

describe('one', () => {
  test('is retried once more, and audited', async () => {
    const id = await createFailedJob(app)

    const retried = await send('POST', `/${id}/actions/retry`)
    const again = await send('POST', `/${id}/actions/retry`)
    const before = await states()
    const count = await app.runJobs()

    expect([retried.body, again.status]).toEqual([{ count: 1 }, 404])
    expect(before).toEqual(['retry'])
    // Its state version does not exist, so nothing is left to do.
    expect([count, await states()]).toEqual([1, ['completed']])
    const events = await app.db
      .selectFrom('audit_events')
      .select(['action', 'resource_id', 'actor_id'])
      .where('resource_type', '=', 'job')
      .execute()
    expect(events).toEqual([{ action: 'retry', resource_id: id, actor_id: admin.id }])
  })

  test('is discarded', async () => {
    const id = await createFailedJob(app)
    await createFailedJob(app, { id: 'sv-2' })

    expect((await send('POST', `/${id}/actions/discard`)).body).toEqual({ count: 1 })
    expect(await states()).toEqual(['failed'])
  })

  test.each(['no-uuid', '3f333df6-90a4-4fda-8dd3-9485d27cee36'])('that does not exist is not found: %s', async (id) => {
    expect((await send('POST', `/${id}/actions/discard`)).status).toBe(404)
  })
})

test('all of a kind are retried or discarded at once', async () => {
  for (let count = 0; count < 3; count += 1) await createFailedJob(app, { id: `sv-${count}` })

  const others = await send('POST', '/actions/discard?filter[kind]=run.advance')
  const retried = await send('POST', '/actions/retry?filter[kind]=state-versions.extract')

  expect([others.body, retried.body]).toEqual([{ count: 0 }, { count: 3 }])
  expect(await states()).toEqual(['retry', 'retry', 'retry'])
})
