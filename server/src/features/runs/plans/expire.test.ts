import { beforeAll, describe, expect, test } from 'vitest'
import type { Ctx } from '../../../app.ts'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type FakeAgent, createFakeAgent } from '../../../testing/fake-agent.ts'
import { type RunSetting, createRun, createRunSetting, readRun } from '../../../testing/runs.ts'
import { compactLogs, expirePlans, sweepRunBlobs } from './jobs.ts'

const DAY_MS = 86_400_000
const SETTINGS = {
  GROUNDSTATE_LOG_RETENTION_DAYS: '20',
  GROUNDSTATE_PLAN_RETENTION_DAYS: '10',
  GROUNDSTATE_RUN_HISTORY_RETENTION_DAYS: '30',
}
const signal = new AbortController().signal

let app: TestApp
let setting: RunSetting
let agent: FakeAgent
beforeAll(async () => {
  app = await createTestApp(SETTINGS)
  setting = await createRunSetting(app)
  agent = await createFakeAgent(app)
})

type Made = { id: string; planId: string; jobId: string }

/** A run whose plan has a log and files, with or without changes. */
async function plannedRun({ hasChanges = false, ...attributes }: Record<string, unknown> = {}): Promise<Made> {
  const id = await createRun(app, setting, attributes)
  const job = await agent.take()
  await job.log('Terraform has begun\n')
  for (const kind of ['plan-file', 'lock-file', 'plan-json', 'plan-json-redacted'] as const) await job.put(kind, '{}')
  await job.finish({ hasChanges: hasChanges === true })
  await compactLogs(app.as(), new Date(app.now().getTime() + 1), signal)
  const run = await readRun(app, setting, id)
  return { id, planId: run.relationships.plan.data.id, jobId: job.id }
}

async function read(path: string) {
  return app.request({ url: `/api/v2${path}`, token: setting.user.token })
}

async function readLog(planId: string, query = '') {
  const plan = (await read(`/plans/${planId}`)).json().data
  return app.request({ url: new URL(plan.attributes['log-read-url']).pathname + query })
}

/** The stored files of a run. */
async function stored({ id, planId, jobId }: Made) {
  const keys = ['plan-file', 'lock-file', 'plan-json', 'plan-json-redacted'].map(
    (kind) => `runs/${id}/${jobId}/${kind}`,
  )
  const found = await Promise.all([...keys, `logs/${planId}/0`].map(async (key) => app.blobs.stat(key)))
  return found.flatMap((blob) => blob?.key.split('/').slice(-1) ?? [])
}

describe('a finished run', () => {
  let run: Made
  let current: Made
  beforeAll(async () => {
    run = await plannedRun()
    current = await plannedRun()
  })

  test('keeps everything at first, and the plan file for a day', async () => {
    app.clock.advance(DAY_MS / 2)
    await expirePlans(app.as(), signal)

    expect(await stored(run)).toHaveLength(5)

    app.clock.advance(DAY_MS)
    await expirePlans(app.as(), signal)

    expect(await stored(run)).toEqual(['plan-json', 'plan-json-redacted', '0'])
    expect(await stored(current)).toEqual(['plan-json', 'plan-json-redacted', '0'])
    expect((await read(`/plans/${run.planId}/json-output-redacted`)).status).toBe(200)
    expect((await read(`/plans/${run.planId}`)).json().data.attributes['json-deleted-at']).toBe(null)
  })

  test('loses the JSON of the plan after the retention period, and reports that', async () => {
    app.clock.advance(9 * DAY_MS)
    await expirePlans(app.as(), signal)

    expect(await stored(run)).toEqual(['0'])
    for (const path of ['json-output', 'json-output-redacted']) {
      const response = await read(`/plans/${run.planId}/${path}`)
      expect(response.status).toBe(404)
      expect(response.json().errors[0].detail).toMatch(/^the JSON of plan-.* is no longer kept: it was deleted at 20/)
    }
    const { attributes } = (await read(`/plans/${run.planId}`)).json().data
    expect(Date.parse(attributes['json-deleted-at'])).toBeGreaterThan(Date.now())
    expect(attributes['log-deleted-at']).toBe(null)
    expect((await readLog(run.planId)).text).toContain('Terraform has begun')
  })

  test('loses its logs after their retention period, and reading them is a 404', async () => {
    app.clock.advance(10 * DAY_MS)
    await expirePlans(app.as(), signal)

    expect(await stored(run)).toEqual([])
    for (const query of ['', '?limit=100&offset=0', '?limit=100&offset=50']) {
      const response = await readLog(run.planId, query)
      expect(response.status).toBe(404)
      expect(response.json().errors[0].detail).toMatch(/^the log of plan-.* is no longer kept/)
    }
  })

  test('finally loses its events and jobs, and keeps its counts', async () => {
    const events = async ({ id }: Made) => (await read(`/runs/${id}/run-events`)).json().data.length
    expect(await events(run)).toBeGreaterThan(0)

    app.clock.advance(10 * DAY_MS)
    await expirePlans(app.as(), signal)

    expect(await events(run)).toBe(0)
    const plan = (await read(`/plans/${run.planId}`)).json().data
    expect(plan.attributes).toMatchObject({ status: 'finished', 'execution-details': null })
    expect((await readRun(app, setting, run.id)).attributes.status).toBe('planned_and_finished')
  })

  test('keeps everything but the plan file while it is the current run of the workspace', async () => {
    expect(await stored(current)).toEqual(['plan-json', 'plan-json-redacted', '0'])
    expect((await read(`/runs/${current.id}/run-events`)).json().data.length).toBeGreaterThan(0)
    expect((await readLog(current.planId)).text).toContain('Terraform has begun')
  })
})

test('a plan that waits for confirmation and a saved plan never expire', async () => {
  const saved = await plannedRun({ hasChanges: true, 'save-plan': true })
  const waiting = await plannedRun({ hasChanges: true })

  app.clock.advance(400 * DAY_MS)
  await expirePlans(app.as(), signal)

  expect(await stored(saved)).toHaveLength(5)
  expect(await stored(waiting)).toHaveLength(5)
  expect((await readLog(saved.planId)).status).toBe(200)
})

test('0 days keep logs and plans forever', async () => {
  const other = await createTestApp({ GROUNDSTATE_LOG_RETENTION_DAYS: '0', GROUNDSTATE_PLAN_RETENTION_DAYS: '0' })
  ;[app, setting, agent] = [other, await createRunSetting(other), await createFakeAgent(other)]
  const run = await plannedRun()
  await plannedRun()

  app.clock.advance(3000 * DAY_MS)
  await expirePlans(app.as(), signal)

  expect(await stored(run)).toEqual(['plan-json', 'plan-json-redacted', '0'])
})

test('files left by a crash between rows and blobs are swept', async () => {
  const other = await createTestApp(SETTINGS)
  ;[app, setting, agent] = [other, await createRunSetting(other), await createFakeAgent(other)]
  const run = await plannedRun()
  const current = await plannedRun()
  app.clock.advance(25 * DAY_MS)
  const dying: Ctx = { ...app.as(), blobs: { ...app.blobs, delete: () => Promise.reject(new Error('killed')) } }

  // Each is killed at its first batch: of logs, plans and plan files.
  await expect(expirePlans(dying, signal)).rejects.toThrow('killed')
  expect((await readLog(run.planId)).status).toBe(404)
  expect(await stored(run)).toHaveLength(5)
  expect(await sweepRunBlobs(app.as(), signal)).toBe(1)

  await expect(expirePlans(dying, signal)).rejects.toThrow('killed')
  expect((await read(`/plans/${run.planId}/json-output`)).status).toBe(404)
  expect(await sweepRunBlobs(app.as(), signal)).toBe(2)

  await expect(expirePlans(dying, signal)).rejects.toThrow('killed')
  expect(await sweepRunBlobs(app.as(), signal)).toBe(4)
  expect(await stored(run)).toEqual([])
  expect(await stored(current)).toEqual(['plan-json', 'plan-json-redacted', '0'])
})
