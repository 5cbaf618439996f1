import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import {
  actOnRun,
  addWorkspace,
  createRun,
  createRunSetting,
  postRun,
  readRun,
  readWorkspace,
  runStatus,
} from '../../../testing/runs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

async function lock(setting: Awaited<ReturnType<typeof createRunSetting>>, action: 'lock' | 'unlock', reason?: string) {
  const url = `/api/v2/workspaces/${setting.workspaceId}/actions/${action}`
  const response = await app.request({ method: 'POST', url, token: setting.user.token, body: { reason } })
  expect(response.status).toBe(200)
}

describe('the queue of a workspace', () => {
  test('runs execute one after the other and report which run they wait for', async () => {
    const setting = await createRunSetting(app)
    const [first, second, third] = [
      await createRun(app, setting),
      await createRun(app, setting),
      await createRun(app, setting),
    ]

    expect(await runStatus(app, setting, second)).toBe('pending')
    expect((await readRun(app, setting, second)).attributes['waiting-reason']).toBe(`1st in the queue behind ${first}`)
    expect((await readRun(app, setting, third)).attributes['waiting-reason']).toBe(`2nd in the queue behind ${second}`)
    expect((await readWorkspace(app, setting)).attributes['waiting-reason']).toBe(
      `${first} waits: starts next in the pool of this server`,
    )

    await (await agent.take()).finish({ hasChanges: false })
    expect(await runStatus(app, setting, second)).toBe('plan_queued')
    expect(await runStatus(app, setting, third)).toBe('pending')
    const plan = await agent.take()
    expect(plan.runId).toBe(second)
    await plan.finish({ status: 'errored' })
    expect((await agent.take()).runId).toBe(third)
    await actOnRun(app, setting, { run: third, action: 'cancel' })
  })

  test("a user's lock blocks runs, and the unlock starts the next one", async () => {
    const setting = await createRunSetting(app)
    await lock(setting, 'lock', 'maintenance')

    const run = await createRun(app, setting)

    const { attributes } = await readRun(app, setting, run)
    expect(attributes.status).toBe('pending')
    expect(attributes['waiting-reason']).toMatch(
      new RegExp(`^the workspace is locked by user ${setting.user.username} since 20.*Z: maintenance$`),
    )
    expect((await readWorkspace(app, setting)).attributes['waiting-reason']).toBe(
      `${run} waits: ${attributes['waiting-reason']}`,
    )
    await lock(setting, 'unlock')
    expect(await runStatus(app, setting, run)).toBe('plan_queued')
    await actOnRun(app, setting, { run, action: 'cancel' })
    expect((await readWorkspace(app, setting)).attributes).toMatchObject({ locked: false, 'waiting-reason': null })
  })

  test("the first run blocked by a user's lock is the current run, so that terraform reports the lock", async () => {
    const setting = await createRunSetting(app)
    const current = async () => (await readWorkspace(app, setting)).relationships['current-run'].data
    await lock(setting, 'lock')

    const first = await createRun(app, setting)
    const second = await createRun(app, setting)

    expect(await current()).toEqual({ id: first, type: 'runs' })
    await actOnRun(app, setting, { run: first, action: 'cancel' })
    expect(await current()).toEqual({ id: second, type: 'runs' })
    await actOnRun(app, setting, { run: second, action: 'cancel' })
  })

  test('the queue keeps its order when a run leaves it', async () => {
    const setting = await createRunSetting(app)
    const [first, second, third] = [
      await createRun(app, setting),
      await createRun(app, setting),
      await createRun(app, setting),
    ]

    expect((await actOnRun(app, setting, { run: second, action: 'discard' })).status).toBe(202)
    expect((await actOnRun(app, setting, { run: first, action: 'cancel' })).status).toBe(202)

    expect(await runStatus(app, setting, second)).toBe('discarded')
    expect(await runStatus(app, setting, third)).toBe('plan_queued')
    await actOnRun(app, setting, { run: third, action: 'cancel' })
  })

  test('a force-executed run precedes the others', async () => {
    const setting = await createRunSetting(app)
    const [first, second, third] = [
      await createRun(app, setting),
      await createRun(app, setting),
      await createRun(app, setting),
    ]
    await (await agent.take()).finish()

    expect((await actOnRun(app, setting, { run: third, action: 'force-execute' })).status).toBe(202)

    expect(await runStatus(app, setting, first)).toBe('discarded')
    expect(await runStatus(app, setting, second)).toBe('discarded')
    expect(await runStatus(app, setting, third)).toBe('plan_queued')
    const again = await actOnRun(app, setting, { run: third, action: 'force-execute' })
    expect(again.status).toBe(403)
    await actOnRun(app, setting, { run: third, action: 'cancel' })
    const ended = await actOnRun(app, setting, { run: third, action: 'force-execute' })
    expect(ended.status).toBe(409)
    expect(ended.json().errors[0].detail).toBe('the run is canceled, it has ended')
  })

  test('a force-executed run does not replace a run that is applying', async () => {
    const setting = await createRunSetting(app)
    const first = await createRun(app, setting, { 'auto-apply': true })
    const second = await createRun(app, setting)
    await (await agent.take()).finish()
    const apply = await agent.take()

    const response = await actOnRun(app, setting, { run: second, action: 'force-execute' })

    expect(response.status).toBe(409)
    expect(response.text).toContain(`${first} is applying`)
    expect(await runStatus(app, setting, second)).toBe('pending')
    await apply.finish()
    await actOnRun(app, setting, { run: second, action: 'cancel' })
  })
})

describe('a cancel', () => {
  test('of a plan reaches the agent, and the run ends once the agent has stopped', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    const plan = await agent.take()
    const waiting = plan.heartbeat({ waitMs: 5000 })

    expect((await actOnRun(app, setting, { run, action: 'cancel' })).status).toBe(202)

    expect((await waiting).json()).toEqual({ command: 'cancel' })
    expect(await runStatus(app, setting, run)).toBe('planning')
    expect((await readRun(app, setting, run)).attributes.actions['is-cancelable']).toBe(false)
    expect((await actOnRun(app, setting, { run, action: 'cancel' })).status).toBe(409)
    await plan.finish({ status: 'canceled' })
    expect(await runStatus(app, setting, run)).toBe('canceled')
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })

  test('is rejected if forced for a run that no agent executes', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    await (await agent.take()).finish({ hasChanges: true })
    expect(await runStatus(app, setting, run)).toBe('planned')

    const refused = await actOnRun(app, setting, { run, action: 'force-cancel' })

    expect(refused.status).toBe(409)
    expect(refused.text).toContain('the run is planned, there is no running job to force-cancel')
    await actOnRun(app, setting, { run, action: 'discard' })
  })

  test('can be forced after a grace period, and the agent loses its job', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    const plan = await agent.take()
    expect((await actOnRun(app, setting, { run, action: 'force-cancel' })).status).toBe(409)
    await actOnRun(app, setting, { run, action: 'cancel' })
    expect((await actOnRun(app, setting, { run, action: 'force-cancel' })).text).toContain('possible from')
    const waiting = plan.heartbeat({ waitMs: 5000, seen: 'cancel' })

    app.clock.advance(31_000)
    expect((await readRun(app, setting, run)).attributes.actions['is-force-cancelable']).toBe(true)
    expect((await actOnRun(app, setting, { run, action: 'force-cancel' })).status).toBe(202)

    expect((await waiting).json()).toEqual({ command: 'force-cancel' })
    expect(await runStatus(app, setting, run)).toBe('force_canceled')
    expect((await plan.heartbeat({ seen: 'force-cancel' })).status).toBe(409)
    expect((await plan.log('late')).status).toBe(409)
    expect((await app.request({ url: '/api/v2/account/details', token: plan.engineToken })).status).toBe(401)
  })

  test('of a run that has ended is a conflict', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    await actOnRun(app, setting, { run, action: 'cancel' })

    for (const action of ['cancel', 'discard', 'apply', 'force-cancel']) {
      expect([action, (await actOnRun(app, setting, { run, action })).status]).toEqual([action, 409])
    }
  })

  test('ends a run that waits for confirmation', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    await (await agent.take()).finish()

    expect((await actOnRun(app, setting, { run, action: 'cancel' })).status).toBe(202)

    expect(await runStatus(app, setting, run)).toBe('canceled')
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })
})

describe('lists', () => {
  test('a workspace lists its runs, newest first', async () => {
    const setting = await createRunSetting(app)
    const ids = [await createRun(app, setting), await createRun(app, setting), await createRun(app, setting)]
    const url = `/api/v2/workspaces/${setting.workspaceId}/runs`

    const list = (await app.request({ url: `${url}?page[size]=2`, token: setting.user.token })).json()
    const pending = (await app.request({ url: `${url}?filter[status]=pending`, token: setting.user.token })).json()
    const wrong = await app.request({ url: `${url}?filter[status]=nope`, token: setting.user.token })

    expect(list.data.map((run: any) => run.id)).toEqual([ids[2], ids[1]])
    expect(list.meta.pagination).toMatchObject({ 'total-count': 3, 'total-pages': 2, 'next-page': 2 })
    expect(pending.meta.pagination['total-count']).toBe(2)
    expect(wrong.status).toBe(422)
    for (const run of ids.toReversed()) await actOnRun(app, setting, { run, action: 'cancel' })
  })

  test('an organization lists its runs and its queue, and reports its capacity', async () => {
    const setting = await createRunSetting(app)
    const other = await addWorkspace(app, setting)
    const ids = [await createRun(app, setting), await createRun(app, other), await createRun(app, setting)]
    const job = await agent.take()
    const base = `/api/v2/organizations/${setting.organization}`
    const read = async (path: string) =>
      (await app.request({ url: `${base}${path}`, token: setting.user.token })).json()

    const runs = await read('/runs?page[size]=2')
    const queue = await read('/runs/queue')
    const capacity = await read('/capacity')

    expect(runs.data.map((run: any) => run.id)).toEqual([ids[2], ids[1]])
    expect(runs.meta.pagination).toEqual({ 'current-page': 1, 'page-size': 2, 'prev-page': null, 'next-page': 2 })
    expect(queue.data.map((run: any) => [run.id, run.attributes['position-in-queue']])).toEqual([
      [ids[0], 0],
      [ids[1], 2],
      [ids[2], 3],
    ])
    expect(capacity.data).toMatchObject({
      id: setting.organization,
      attributes: { pending: 2, running: 1, 'run-concurrency': null },
    })
    await job.finish({ hasChanges: false })
    for (const run of ids.slice(1)) await actOnRun(app, setting, { run, action: 'cancel' })
  })
})

describe('at the same time', () => {
  test('twenty concurrent creations and claims never make two active runs in one workspace', async () => {
    const setting = await createRunSetting(app)
    const others = await Promise.all(Array.from({ length: 4 }, () => createFakeAgent(app, { name: 'more' })))
    const agents = [agent, ...others]

    const created = await Promise.all(Array.from({ length: 20 }, () => postRun(app, setting)))
    expect(new Set(created.map((response) => response.status))).toEqual(new Set([201]))

    const order: number[] = []
    const seen = new Set<string>()
    for (let round = 0; round < 20; round += 1) {
      const jobs = (await Promise.all(agents.map((one) => one.claim()))).filter((job) => job !== undefined)
      expect(jobs).toHaveLength(1)
      for (const job of jobs) {
        expect(seen.has(job.runId)).toBe(false)
        seen.add(job.runId)
        const row = await app.db.selectFrom('runs').select('number').where('id', '=', job.runId).executeTakeFirst()
        order.push(row?.number ?? 0)
        await job.finish({ hasChanges: false })
      }
    }
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(seen.size).toBe(20)
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })

  test('twenty concurrent claims get twenty different jobs', async () => {
    const setting = await createRunSetting(app)
    await Promise.all(Array.from({ length: 20 }, () => createRun(app, setting, { 'plan-only': true })))

    const jobs = await Promise.all(Array.from({ length: 25 }, () => agent.claim({ waitMs: 500 })))

    const ids = jobs.flatMap((job) => job?.id ?? [])
    expect(ids).toHaveLength(20)
    expect(new Set(ids).size).toBe(20)
    await Promise.all(jobs.map(async (job) => job?.finish({ hasChanges: false })))
  })

  test('of concurrent confirm, cancel and discard one succeeds', async () => {
    const setting = await createRunSetting(app)
    const run = await createRun(app, setting)
    await (await agent.take()).finish()

    const responses = await Promise.all(
      ['apply', 'discard', 'cancel'].map((action) => actOnRun(app, setting, { run, action })),
    )

    const status = await runStatus(app, setting, run)
    expect(responses.map((response) => response.status)).toContain(202)
    expect(['apply_queued', 'discarded', 'canceled']).toContain(status)
    if (status === 'apply_queued') await actOnRun(app, setting, { run, action: 'cancel' })
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })
})
