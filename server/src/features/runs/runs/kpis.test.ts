import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createFakeAgent, type FakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting, type RunSetting } from '../../../testing/runs.ts'

let app: TestApp
let agent: FakeAgent

beforeAll(async () => {
  app = await createTestApp()
  agent = await createFakeAgent(app)
})

/** The KPIs of the workspace. */
async function kpis({ workspaceId, user }: RunSetting) {
  const { attributes } = (await app.request({ url: `/api/v2/workspaces/${workspaceId}`, token: user.token })).json()
    .data
  return {
    runs: attributes['workspace-kpis-runs-count'],
    failures: attributes['run-failures'],
    policyFailures: attributes['policy-check-failures'],
    planMs: attributes['plan-duration-average'],
    applyMs: attributes['apply-duration-average'],
  }
}

const NONE = { runs: null, failures: null, policyFailures: null, planMs: null, applyMs: null }

/** A run whose plan and apply take this long. */
async function applied(setting: RunSetting, { planMs, applyMs }: { planMs: number; applyMs: number }) {
  await createRun(app, setting, { 'auto-apply': true })
  const plan = await agent.take()
  app.clock.advance(planMs)
  await plan.finish()
  const apply = await agent.take()
  app.clock.advance(applyMs)
  await apply.finish()
}

/** A run whose plan fails immediately. */
async function failed(setting: RunSetting) {
  await createRun(app, setting)
  await (await agent.take()).finish({ status: 'errored', exitCode: 1 })
}

/** Maximum real time that passes during a test, in ms. */
const SLACK = 3000

describe('the KPIs of a workspace', () => {
  test('are null before any run was applied or failed', async () => {
    const setting = await createRunSetting(app)
    await createRun(app, setting)
    await (await agent.take()).finish({ hasChanges: false })

    expect(await kpis(setting)).toEqual(NONE)
  })

  test('count applied and failed runs', async () => {
    const setting = await createRunSetting(app)
    await applied(setting, { planMs: 100_000, applyMs: 200_000 })
    await applied(setting, { planMs: 300_000, applyMs: 400_000 })

    const both = await kpis(setting)
    await failed(setting)
    const all = await kpis(setting)

    expect(both).toMatchObject({ runs: 2, failures: 0, policyFailures: 0 })
    expect(both.planMs - 200_000).toBeLessThan(SLACK)
    expect(both.planMs).toBeGreaterThanOrEqual(200_000)
    expect(both.applyMs - 300_000).toBeLessThan(SLACK)
    expect(both.applyMs).toBeGreaterThanOrEqual(300_000)
    expect(all).toMatchObject({ runs: 3, failures: 1, applyMs: both.applyMs })
    expect(all.planMs).toBeLessThan(both.planMs)
  })

  test('have no duration of a phase that never ran', async () => {
    const setting = await createRunSetting(app)

    await failed(setting)

    expect(await kpis(setting)).toMatchObject({ runs: 1, failures: 1, applyMs: null })
  })

  test('include a phase that lasted for weeks, as on a suspended machine', async () => {
    const setting = await createRunSetting(app)
    await createRun(app, setting)
    const plan = await agent.take()
    app.clock.advance(30 * 24 * 60 * 60 * 1000)

    const end = await plan.finish({ status: 'errored', exitCode: 1 })

    expect(end.status).toBe(204)
    expect(await kpis(setting)).toMatchObject({ runs: 1, failures: 1, planMs: 2_147_483_647 })
  })

  test('count the last 30 runs', async () => {
    const setting = await createRunSetting(app)
    await applied(setting, { planMs: 900_000, applyMs: 900_000 })
    for (let count = 0; count < 30; count += 1) await failed(setting)

    const last = await kpis(setting)

    expect(last).toMatchObject({ runs: 30, failures: 30, applyMs: null })
    expect(last.planMs).toBeLessThan(SLACK)
  })
})
