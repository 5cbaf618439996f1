import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { actOnRun, createRun, createRunSetting } from '../../../testing/runs.ts'

const app = await createTestApp()

test('events and comments show actions and their actors', async () => {
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

test('a run lists its comments, also those of actions', async () => {
  const setting = await createRunSetting(app)
  const agent = await createFakeAgent(app)
  const run = await createRun(app, setting)
  await (await agent.take()).finish()
  await actOnRun(app, setting, { run, action: 'apply', comment: 'go' })
  await app.request({
    method: 'POST',
    url: `/api/v2/runs/${run}/comments`,
    token: setting.user.token,
    body: { data: { type: 'comments', attributes: { body: 'for the record' } } },
  })
  const get = async (path: string) => (await app.request({ url: `/api/v2${path}`, token: setting.user.token })).json()

  const shown = [
    (await get(`/runs/${run}`)).data,
    (await get(`/workspaces/${setting.workspaceId}/runs`)).data[0],
    (await get(`/organizations/${setting.organization}/runs`)).data[0],
    (await get(`/workspaces/${setting.workspaceId}?include=current_run`)).included?.[0],
  ].filter((run) => run !== undefined)

  const { data: comments } = await get(`/runs/${run}/comments`)
  const named = comments.map(({ id }: any) => ({ id, type: 'comments' }))
  expect(comments.map(({ attributes }: any) => attributes.body)).toEqual(['go', 'for the record'])
  expect(shown.map(({ relationships }) => relationships.comments.data)).toEqual(shown.map(() => named))
})
