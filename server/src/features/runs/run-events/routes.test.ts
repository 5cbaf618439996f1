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

test('a run names its events from its creation on; lists only link to them', async () => {
  const setting = await createRunSetting(app)
  const request = async (method: 'GET' | 'POST', path: string, body?: unknown) =>
    (await app.request({ method, url: `/api/v2${path}`, token: setting.user.token, body })).json()
  const workspace = { data: { type: 'workspaces', id: setting.workspaceId } }

  const created = (await request('POST', '/runs', { data: { type: 'runs', relationships: { workspace } } })).data
  await actOnRun(app, setting, { run: created.id, action: 'cancel' })
  const shown = (await request('GET', `/runs/${created.id}`)).data
  const [listed] = (await request('GET', `/workspaces/${setting.workspaceId}/runs`)).data
  const events = (await request('GET', `/runs/${created.id}/run-events`)).data

  const ids = events.map(({ id }: any) => ({ id, type: 'run-events' }))
  const links = { related: `/api/v2/runs/${created.id}/run-events` }
  expect(events.map(({ attributes }: any) => attributes.action)).toEqual(['created', 'canceled'])
  expect(created.relationships['run-events']).toEqual({ data: ids.slice(0, 1), links })
  expect(shown.relationships['run-events']).toEqual({ data: ids, links })
  expect(listed.relationships['run-events']).toEqual({ links })
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
