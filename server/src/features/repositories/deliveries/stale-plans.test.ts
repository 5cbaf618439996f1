import { expect, test, vi } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun } from '../../../testing/runs.ts'
import { connectRepository } from '../testing/connected-repository.ts'

// Each delivery runs all due jobs and several processes of git.
vi.setConfig({ testTimeout: 60_000 })

const app = await createTestApp()
const owner = await createUser(app)
const agent = await createFakeAgent(app)

/** A workspace whose first run has ended, with the pull request #7 of its repository. */
async function connect() {
  const connected = await connectRepository(app, owner)
  const { repository, request, deliver, openPullRequest, addWorkspace } = connected
  repository.commit({ 'main.tf': '1' })
  const { id } = await addWorkspace({ 'queue-all-runs': true })
  await app.runJobs()
  await (await agent.take()).finish({ hasChanges: false })

  /** A commit of the pull request, reported with an action of the host; returns the start of its name. */
  async function report(action: string, content: string, { ended = {} } = {}) {
    const event = openPullRequest({ 'main.tf': content })
    const pull = { ...event.pull_request, ...ended }
    expect((await deliver('pull_request', { ...event, action, pull_request: pull })).status).toBe(202)
    await app.runJobs()
    app.clock.advance(1000)
    return event.pull_request.head.sha.slice(0, 7)
  }

  /** Statuses of the plans, oldest first, with the reason of a cancellation. */
  async function plans() {
    const { data } = (await request('GET', `workspaces/${id}/runs?filter[operation]=plan_only`)).json()
    const shown = data.map(async (run: { id: string; attributes: { status: string } }) => {
      const events = (await request('GET', `runs/${run.id}/run-events`)).json().data
      const canceled = events.find((one: { attributes: { action: string } }) => one.attributes.action === 'canceled')
      const reason = canceled ? `: ${canceled.attributes.description.replace(/run-\w+/, 'run')}` : ''
      return `${run.attributes.status}${reason}`
    })
    return ((await Promise.all(shown)) as string[]).toReversed()
  }

  const change = async (path: string, type: string, attributes: object) =>
    expect((await request('PATCH', path, { type, attributes })).status).toBe(200)
  return { ...connected, id, report, plans, change }
}

test('a newer commit of a pull request cancels the queued plan of the older one', async () => {
  const { report, plans } = await connect()
  await report('opened', '2')

  const newer = await report('synchronized', '3')

  expect(await plans()).toEqual([`canceled: superseded by run: commit ${newer} of the pull request #7`, 'plan_queued'])
  await (await agent.take()).finish({ hasChanges: false })
})

test('a pull request that is set back to an earlier commit is planned again', async () => {
  const { report, plans } = await connect()
  const earlier = await report('opened', '2')
  const later = await report('synchronized', '3')

  await report('synchronized', '2')

  expect(await plans()).toEqual([
    `canceled: superseded by run: commit ${later} of the pull request #7`,
    `canceled: superseded by run: commit ${earlier} of the pull request #7`,
    'plan_queued',
  ])
  await (await agent.take()).finish({ hasChanges: false })
})

test('a pull request that is set back to a planned commit keeps that plan, and no other', async () => {
  const { report, plans } = await connect()
  const planned = await report('opened', '2')
  await (await agent.take()).finish()
  await report('synchronized', '3')

  await report('synchronized', '2')

  expect(await plans()).toEqual([
    'planned_and_finished',
    `canceled: superseded by commit ${planned} of the pull request #7`,
  ])
})

test('a running plan is interrupted', async () => {
  const { report, plans } = await connect()
  await report('opened', '2')
  const job = await agent.take()

  await report('synchronized', '3')
  const { command } = (await job.heartbeat()).json()
  const [running] = await plans()
  await job.finish({ status: 'canceled' })
  const [canceled] = await plans()
  await (await agent.take()).finish({ hasChanges: false })

  expect(command).toBe('cancel')
  expect([running, canceled]).toEqual([
    expect.stringMatching(/^planning: superseded by run/),
    expect.stringMatching(/^canceled: superseded by run/),
  ])
})

test('a finished plan, and one that a person started, stay', async () => {
  const { id, report, plans, request } = await connect()
  await report('opened', '2')
  await (await agent.take()).finish()
  const [plan] = (await request('GET', `workspaces/${id}/runs?filter[operation]=plan_only`)).json().data
  const configurationVersionId = plan.relationships['configuration-version'].data.id
  await createRun(app, { user: owner, workspaceId: id }, { configurationVersionId })

  await report('synchronized', '3')
  const shown = await plans()
  for (const _ of [1, 2]) await (await agent.take()).finish({ hasChanges: false })

  expect(shown).toEqual(['planned_and_finished', 'plan_queued', 'plan_queued'])
})

test.each([
  ['closed', { state: 'closed' }, 'canceled: the pull request #7 was closed'],
  [
    'merged',
    { state: 'closed', merged: true, merged_at: '2026-11-20T10:00:00Z' },
    'canceled: the pull request #7 was merged',
  ],
])('a pull request that is %s cancels its plan', async (_, ended, expected) => {
  const { report, plans } = await connect()
  await report('opened', '2')

  await report('closed', '2', { ended })

  expect(await plans()).toEqual([expected])
})

test('a pull request that is opened again is planned again if closing it canceled the plan', async () => {
  const { report, plans } = await connect()
  await report('opened', '2')
  await report('closed', '2', { ended: { state: 'closed' } })

  await report('reopened', '2')
  const again = await plans()
  await (await agent.take()).finish({ hasChanges: false })
  await report('closed', '2', { ended: { state: 'closed' } })
  await report('reopened', '2')

  expect(again).toEqual(['canceled: the pull request #7 was closed', 'plan_queued'])
  expect(await plans()).toEqual(['canceled: the pull request #7 was closed', 'planned_and_finished'])
})

test('a commit that is not planned in a workspace makes the older plan there stale', async () => {
  const { id, report, plans, change } = await connect()
  await report('opened', '2')
  await change(`workspaces/${id}`, 'workspaces', { 'speculative-enabled': false })

  const newer = await report('synchronized', '3')

  expect(await plans()).toEqual([
    `canceled: superseded by commit ${newer} of the pull request #7, which is not planned here`,
  ])
})

test('the organization can keep outdated plans', async () => {
  const { organization, report, plans, change } = await connect()
  const attributes = { 'speculative-plan-management-enabled': false }
  await change(`organizations/${organization}`, 'organizations', attributes)
  await report('opened', '2')

  await report('synchronized', '3')

  expect(await plans()).toEqual(['plan_queued', 'plan_queued'])
})

test('a replay of an older delivery leaves the plan of the newest commit', async () => {
  const { organization, report, plans, request } = await connect()
  await report('opened', '2')
  await report('synchronized', '3')
  const { data } = (await request('GET', `organizations/${organization}/vcs-deliveries`)).json()

  await request('POST', `vcs-deliveries/${data.at(-1).id}/actions/replay`)
  await app.runJobs()

  expect((await plans()).at(-1)).toBe('plan_queued')
})
