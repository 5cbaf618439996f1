import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { addWorkspace, createRun, createRunSetting } from '../../../testing/runs.ts'
import { createPool, createPoolToken } from '../../agents/agent-pools/testing/pools.ts'

type Run = { id: string; attributes: { status: string; 'plan-only': boolean } }

const app = await createTestApp()

test('a list has the runs that failed since a time, or that need a decision', async () => {
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
    const response = await app.request({ url: `/api/v2${path}`, token: setting.user.token })
    return response.json().data.map((run: { id: string }) => run.id)
  }

  app.clock.advance(1000)
  const after = app.clock.now().toISOString()
  const lately = await found(`${runs}?filter[status]=errored&filter[since]=${before}`)
  const later = await found(`${runs}?filter[status]=errored&filter[since]=${after}`)
  const decisions = await found(`${runs}?filter[status_group]=needs_approval`)
  const queue = await found(`${runs}/queue?filter[status_group]=running,waiting`)

  expect([lately, later, decisions, queue]).toEqual([[failed], [], [planned], [waiting]])
})

test('an autoscaler counts the unfinished runs of a pool: those that wait for an agent and those that have one', async () => {
  const setting = await createRunSetting(app)
  const pool = await createPool(app, setting, { name: 'Rack' })
  const inPool = { 'execution-mode': 'agent', 'agent-pool-id': pool.id }
  const add = async () => addWorkspace(app, { ...setting, attributes: inPool })
  const agent = await createFakeAgent(app, {
    token: (await createPoolToken(app, setting, { poolId: pool.id })).attributes.token,
  })
  const finished = await add()
  await createRun(app, finished, { 'plan-only': true })
  await (await agent.take()).finish()
  const decided = await createRun(app, await add())
  await (await agent.take()).finish()
  const running = await createRun(app, await add())
  await agent.take()
  const busy = await add()
  const queued = await createRun(app, busy)
  const pending = await createRun(app, busy)
  await createRun(app, setting)

  const url = `/api/v2/organizations/${setting.organization}/runs?filter[agent_pool_names]=rack&filter[status_group]=non_final`
  const pages = [1, 2, 3].map(async (page) => {
    const response = await app.request({
      url: `${url}&page[size]=2&page[number]=${page}`,
      token: setting.user.token,
    })
    const runs = response.json().data.map((run: Run) => [run.id, run.attributes.status, run.attributes['plan-only']])
    return { runs, next: response.json().meta.pagination['next-page'] }
  })

  const capacity = async (pool: string) => {
    const counted = `/api/v2/organizations/${setting.organization}/capacity?filter[agent_pool_names]=${pool}`
    const response = await app.request({ url: counted, token: setting.user.token })
    const { pending, queued, running } = response.json().data.attributes
    return { pending, queued, running }
  }

  expect(await capacity('rack')).toEqual({ pending: 2, queued: 1, running: 1 })
  expect(await capacity('nowhere')).toEqual({ pending: 0, queued: 0, running: 0 })
  expect(await Promise.all(pages)).toEqual([
    {
      runs: [
        [pending, 'pending', false],
        [queued, 'plan_queued', false],
      ],
      next: 2,
    },
    {
      runs: [
        [running, 'planning', false],
        [decided, 'planned', false],
      ],
      next: null,
    },
    { runs: [], next: null },
  ])
})

test('a stranger gets no validation errors of a list that they may not read', async () => {
  const setting = await createRunSetting(app)
  const { token } = await createUser(app)
  const organization = `/organizations/${setting.organization}`
  const workspace = `/workspaces/${setting.workspaceId}`
  const lists = [`${organization}/runs`, `${organization}/runs/queue`, `${workspace}/runs`, `${workspace}/run-triggers`]

  const refusals = lists.map(async (list) => {
    const url = `/api/v2${list}?filter[status]=odd&filter[status_group]=odd&filter[run-trigger][type]=odd`
    return (await app.request({ url, token })).status
  })

  expect(await Promise.all(refusals)).toEqual([404, 404, 404, 404])
})

test.each([
  ['runs', 'filter[source]', 'odd', 'tfe-api, tfe-ui'],
  ['runs', 'filter[status]', 'applied,odd', 'planning'],
  ['runs', 'filter[operation]', 'odd', 'plan_only'],
  ['runs', 'filter[status_group]', 'odd', 'non_final'],
  ['runs', 'filter[timeframe]', 'odd', 'year'],
  ['workspaces', 'filter[current-run][status]', 'odd', 'planning'],
  ['workspaces', 'filter[run-group]', 'odd', 'finished'],
  ['varsets', 'scope', 'odd', 'owned'],
  ['organization-memberships', 'filter[status]', 'odd', 'invited'],
])('an unknown value is rejected: %s?%s=%s', async (list, parameter, value, expected) => {
  const setting = await createRunSetting(app)

  const url = `/api/v2/organizations/${setting.organization}/${list}?${parameter}=${value}`
  const response = await app.request({ url, token: setting.user.token })

  expect(response.status).toBe(422)
  expect(response.json().errors[0].source).toEqual({ parameter })
  expect(response.json().errors[0].detail).toMatch(/odd/)
  expect(response.json().errors[0].detail).toContain(expected)
})

test.each([
  ['runs', 'filter[status]'],
  ['workspaces', 'filter[current-run][status]'],
])('a status of the public API that no run has here matches nothing: %s', async (list, parameter) => {
  const setting = await createRunSetting(app)
  await createRun(app, setting)
  const found = async (statuses: string) => {
    const url = `/api/v2/organizations/${setting.organization}/${list}?${parameter}=${statuses}`
    return (await app.request({ url, token: setting.user.token })).json().data.length
  }

  expect(await found('policy_checked,cost_estimated')).toBe(0)
  expect(await found('policy_checked,plan_queued')).toBe(1)
})

test.each([
  ['a date', '2026-02-28', true],
  ['a time in a zone', '2026-02-28T10:00:00%2B02:00', true],
  ['the earliest date', '0000-01-01', true],
  ['a word', 'yesterday', false],
  ['a day that the month does not have', '2026-02-31', false],
  ['a time without a zone', '2026-02-28T10:00:00', false],
])('filter[since] with %s', async (_, since, isTime) => {
  const setting = await createRunSetting(app)

  const { status, json } = await app.request({
    url: `/api/v2/organizations/${setting.organization}/runs?filter[since]=${since}`,
    token: setting.user.token,
  })

  const refused = { status: 422, source: { parameter: 'filter[since]' } }
  expect({ status, source: json().errors?.[0].source }).toEqual(isTime ? { status: 200 } : refused)
})
