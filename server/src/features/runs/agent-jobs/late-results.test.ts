import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { type FakeJob, createFakeAgent } from '../../../testing/fake-agent.ts'
import { actOnRun, readRun, runStatus } from '../../../testing/runs.ts'
import { compactLogs } from '../plans/jobs.ts'
import { reapLostLeases } from './reap-leases.ts'
import { openLog, startPlan } from './testing/jobs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

/** An apply that logged `before` and then lost its lease. */
async function loseApply() {
  const { setting, run, job: plan } = await startPlan(app, agent, { 'auto-apply': true })
  await plan.finish()
  const job = await agent.take()
  await job.log('before\n')
  app.clock.advance(121_000)
  await reapLostLeases(app.as())
  const applyId: string = (await readRun(app, setting, run)).relationships.apply.data.id
  return { setting, run, job, applyId }
}

type Lost = Awaited<ReturnType<typeof loseApply>>

async function eventsOf({ setting, run }: Pick<Lost, 'setting' | 'run'>) {
  const { data } = (await app.request({ url: `/api/v2/runs/${run}/run-events`, token: setting.user.token })).json()
  return data.map(({ attributes }: any) => attributes) as { action: string; description: string | null }[]
}

describe('an apply whose lease was lost', () => {
  test('still accepts the rest of its log, after the notice of the server', async () => {
    const lost = await loseApply()

    expect((await lost.job.log('fore\nafter\n', 2)).json()).toEqual({ size: 'before\nafter\n'.length })
    expect((await lost.job.log('', 0)).json()).toEqual({ size: 'before\nafter\n'.length })
    await lost.job.finish()

    const { read } = await openLog(app, lost.setting, { run: lost.run, phase: 'apply' })
    expect(String(await read(0, 10_000))).toMatch(
      /^.before\n\nthe agent fake stopped sending[^]*after\n\nthe agent fake reconnected/,
    )
  })

  test('gets no commands and accepts only its log, errored state and result', async () => {
    const { job } = await loseApply()

    expect((await job.heartbeat()).status).toBe(409)
    expect((await job.configuration()).status).toBe(409)
    expect((await job.get('plan-file')).status).toBe(409)
    expect((await job.release()).status).toBe(204)
  })

  test('stays errored, and reports that it had finished', async () => {
    const lost = await loseApply()
    const { setting, run, job } = lost

    const counts = { additions: 3, changes: 0, destructions: 1, imports: 0 }
    expect((await job.finish({ counts })).status).toBe(204)

    const { attributes } = await readRun(app, setting, run)
    expect(attributes.status).toBe('errored')
    expect(attributes['error-message']).toMatch(
      /^the agent fake reconnected at 20[-\dT:]+Z: the apply had finished; it left no unsaved state$/,
    )
    expect(await eventsOf(lost)).toContainEqual(
      expect.objectContaining({ action: 'late_result', description: attributes['error-message'] }),
    )
    const apply = await app.request({ url: `/api/v2/applies/${lost.applyId}`, token: setting.user.token })
    expect(apply.json().data.attributes).toMatchObject({ status: 'errored', 'resource-additions': 3 })
  })

  test('reports where to download the errored state', async () => {
    const { setting, run, job, applyId } = await loseApply()

    expect((await job.put('errored-state', '{"version":4}')).status).toBe(204)
    await job.finish({ status: 'errored', exitCode: 1, message: 'the engine was interrupted' })

    const { attributes } = await readRun(app, setting, run)
    const url = `/api/v2/applies/${applyId}/errored-state`
    expect(attributes['error-message']).toContain('the apply had failed (the engine was interrupted)')
    expect(attributes['error-message']).toContain(`download it at http://groundstate.test${url}`)
    expect((await app.request({ url, token: setting.user.token })).json()).toEqual({ version: 4 })
  })

  test('accepts one result', async () => {
    const lost = await loseApply()

    await lost.job.finish()
    await lost.job.finish({ status: 'errored', exitCode: 1 })

    const late = (await eventsOf(lost)).filter(({ action }) => action === 'late_result')
    expect(late).toHaveLength(1)
    expect((await lost.job.log('more')).status).toBe(409)
    expect((await lost.job.put('errored-state', '{}')).status).toBe(409)
  })

  test('is closed after a day', async () => {
    const lost = await loseApply()
    app.clock.advance(24 * 3_600_000)

    expect((await lost.job.log('late')).status).toBe(409)
    expect((await lost.job.put('errored-state', '{}')).status).toBe(409)
    expect((await lost.job.finish()).status).toBe(204)

    expect((await eventsOf(lost)).map(({ action }) => action)).not.toContain('late_result')
  })

  test('accepts late output until its result', async () => {
    const lost = await loseApply()
    app.clock.advance(3_600_000)
    await compactLogs(app.as(), app.now())
    await lost.job.log('late\n')
    await lost.job.finish()

    await compactLogs(app.as(), app.now())

    const { read } = await openLog(app, lost.setting, { run: lost.run, phase: 'apply' })
    const text = String(await read(0, 10_000))
    expect(text).toMatch(/late\n[^]*reconnected/)
    expect(text.endsWith('\n\u0003')).toBe(true)
    const row = app.db.selectFrom('phases').select('log_size').where('id', '=', lost.applyId)
    expect((await row.executeTakeFirstOrThrow()).log_size).not.toBeNull()
  })
})

test('the late result of a plan is dropped', async () => {
  const { setting, run, job } = await startPlan(app, agent)
  app.clock.advance(31_000)
  await reapLostLeases(app.as())

  const responses = await Promise.all([job.log('late'), job.put('plan-json', '{}')])

  expect(responses.map(({ status }) => status)).toEqual([409, 409])
  expect((await job.finish()).status).toBe(204)
  expect(await runStatus(app, setting, run)).toBe('plan_queued')
  expect((await eventsOf({ setting, run })).map(({ action }) => action)).toEqual(['created'])
  await actOnRun(app, setting, { run, action: 'cancel' })
})

test("the agent's token of a job does not open the public API, and the engine's does not open the agent protocol", async () => {
  const { setting, job } = await startPlan(app, agent)
  const read = async (token: string) =>
    (await app.request({ url: `/api/v2/workspaces/${setting.workspaceId}`, token })).status
  const withEngineToken: FakeJob['heartbeat'] = () =>
    app.request({
      method: 'POST',
      url: `/api/agent/v1/jobs/${job.id}/heartbeat`,
      token: job.engineToken,
      body: { waitMs: 0 },
    })

  expect([await read(job.engineToken), await read(job.token)]).toEqual([200, 401])
  expect((await withEngineToken()).status).toBe(401)
  await job.finish({ hasChanges: false })
  expect(await read(job.engineToken)).toBe(401)
})
