import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { addWorkspace, createRun, createRunSetting } from '../../../testing/runs.ts'

const app = await createTestApp()

test('what has failed since a moment is listed, and what people have to decide', async () => {
  const before = app.clock.now().toISOString()
  const setting = await createRunSetting(app)
  const other = await addWorkspace(app, setting)
  const agent = await createFakeAgent(app)
  const failed = await createRun(app, setting)
  await (await agent.take()).finish({ status: 'errored', exitCode: 1 })
  const planned = await createRun(app, other)
  await (await agent.take()).finish()
  const waiting = await createRun(app, other)
  const runs = `/organizations/${setting.organization}/runs`
  const found = async (path: string) => {
    const answer = await app.request({ url: `/api/v2${path}`, token: setting.user.token })
    return answer.json().data.map((run: { id: string }) => run.id)
  }

  app.clock.advance(1000)
  const after = app.clock.now().toISOString()
  const lately = await found(`${runs}?filter[status]=errored&filter[since]=${before}`)
  const later = await found(`${runs}?filter[status]=errored&filter[since]=${after}`)
  const decisions = await found(`${runs}?filter[status_group]=needs_approval`)
  const queue = await found(`${runs}/queue?filter[status_group]=running,waiting`)

  expect([lately, later, decisions, queue]).toEqual([[failed], [], [planned], [waiting]])
})

test.each([
  ['a date', '2026-02-28', true],
  ['a time in a zone', '2026-02-28T10:00:00%2B02:00', true],
  ['the earliest date', '0000-01-01', true],
  ['a word', 'yesterday', false],
  ['a day that the month does not have', '2026-02-31', false],
  ['a time in no zone', '2026-02-28T10:00:00', false],
])('filter[since] with %s', async (_, since, isTime) => {
  const setting = await createRunSetting(app)

  const { status, json } = await app.request({
    url: `/api/v2/organizations/${setting.organization}/runs?filter[since]=${since}`,
    token: setting.user.token,
  })

  const refused = { status: 422, source: { parameter: 'filter[since]' } }
  expect({ status, source: json().errors?.[0].source }).toEqual(isTime ? { status: 200 } : refused)
})
