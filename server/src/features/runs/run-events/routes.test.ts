import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { actOnRun, createRun, createRunSetting } from '../../../testing/runs.ts'

const app = await createTestApp()

test('events and comments show what happened, and who did it', async () => {
  const setting = await createRunSetting(app)
  const run = await createRun(app, setting)
  await actOnRun(app, setting, { run, action: 'cancel', comment: 'changed my mind' })
  await app.request({
    method: 'POST',
    url: `/api/v2/runs/${run}/comments`,
    token: setting.user.token,
    body: { data: { type: 'comments', attributes: { body: 'for the record' } } },
  })

  const url = `/api/v2/runs/${run}/run-events?include=actor,comment`
  const events = (await app.request({ url, token: setting.user.token })).json()
  const comments = await app.request({ url: `/api/v2/runs/${run}/comments`, token: setting.user.token })

  expect(events.data.map((event: any) => event.attributes.action)).toEqual(['created', 'canceled', 'commented'])
  expect(events.included.map((resource: any) => resource.type)).toEqual(['users', 'comments', 'comments'])
  expect(comments.json().data.map((comment: any) => comment.attributes.body)).toEqual([
    'changed my mind',
    'for the record',
  ])
  const [event] = events.data
  expect((await app.request({ url: `/api/v2/run-events/${event.id}`, token: setting.user.token })).status).toBe(200)
})
