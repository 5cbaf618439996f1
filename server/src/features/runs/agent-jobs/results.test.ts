import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { readRun, runStatus } from '../../../testing/runs.ts'
import { reapLostLeases } from './reap-leases.ts'
import { openLog, startPlan } from './testing/jobs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

const PLAN_JSON = '{"format_version":"1.2"}'

async function readJson(setting: { user: { token: string } }, run: string, kind = 'json-output') {
  return app.request({ url: `/api/v2/runs/${run}/plan/${kind}`, token: setting.user.token })
}

async function readPhase(setting: { user: { token: string } }, path: string) {
  return (await app.request({ url: `/api/v2/${path}`, token: setting.user.token })).json().data.attributes
}

describe('a result', () => {
  test('has the rest of the log, the files and the status in one request', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'auto-apply': true })
    await job.log('begun\n')

    const response = await job.result({}, { log: 'done\n', files: { 'plan-file': 'zip', 'plan-json': PLAN_JSON } })

    expect(response.status).toBe(204)
    expect(await runStatus(app, setting, run)).toBe('apply_queued')
    const { read } = await openLog(app, setting, { run, phase: 'plan' })
    expect(String(await read(0, 1000))).toBe('\u0002begun\ndone\n\u0003')
    expect((await readJson(setting, run)).text).toBe(PLAN_JSON)
    expect((await (await agent.take()).get('plan-file')).text).toBe('zip')
  })

  test('may be repeated', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'auto-apply': true })
    const parts = { log: 'done\n', offset: 0, files: { 'plan-file': 'zip' } }

    const responses = [await job.result({}, parts), await job.result({}, parts)]

    expect(responses.map(({ status }) => status)).toEqual([204, 204])
    const { read } = await openLog(app, setting, { run, phase: 'plan' })
    expect(String(await read(0, 1000))).toBe('\u0002done\n\u0003')
    await (await agent.take()).finish()
  })

  test('whose log has a gap is rejected and changes nothing', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'auto-apply': true })

    const response = await job.result({}, { log: 'done\n', offset: 7 })

    expect(response.status).toBe(416)
    expect(await runStatus(app, setting, run)).toBe('planning')
    await job.finish({ hasChanges: false })
  })

  test.each([
    ['no header', Buffer.from('{"outcome":{}}')],
    ['undeclared bytes', Buffer.from('{"outcome":{"status":"finished","exitCode":0},"files":[]}\nx')],
    ['a header of another kind', Buffer.from('{"files":[]}\n')],
  ])('with %s is rejected', async (_, body) => {
    const { job } = await startPlan(app, agent)

    const url = `/api/agent/v1/jobs/${job.id}/result`
    const response = await app.request({ method: 'POST', url, token: job.token, body })

    expect(response.status).toBe(400)
    await job.finish({ hasChanges: false })
  })

  test('of a lost apply includes the rest of its log', async () => {
    const { setting, run, job: plan } = await startPlan(app, agent, { 'auto-apply': true })
    await plan.finish()
    const job = await agent.take()
    await job.log('before\n')
    app.clock.advance(121_000)
    await reapLostLeases(app.as())

    expect((await job.result({}, { log: 'after\n', files: { 'errored-state': '{}' } })).status).toBe(204)

    const { read } = await openLog(app, setting, { run, phase: 'apply' })
    expect(String(await read(0, 1000))).toMatch(/^.before\n[^]*after\n[^]*reconnected/)
  })
})

describe('a result with values out of bounds', () => {
  test.each(['finish', 'result'] as const)('ends the run as it would without them: %s', async (request) => {
    const { setting, run, job } = await startPlan(app, agent)
    const text = 'x'.repeat(20_000)
    const counts = { additions: 99_999_999_999, changes: -1, destructions: 0, imports: 0 }

    const response = await job[request]({
      status: 'errored',
      message: text,
      engineVersion: text,
      exitCode: 2 ** 40,
      counts,
    })

    expect(response.status).toBe(204)
    const { attributes, relationships } = await readRun(app, setting, run)
    expect([attributes.status, attributes['error-message']]).toEqual(['errored', text.slice(0, 10_000)])
    const plan = await readPhase(setting, `plans/${relationships.plan.data.id}`)
    expect(plan).toMatchObject({ status: 'errored', 'resource-additions': null })
  })

  test('stores no characters that the database cannot store', async () => {
    const { setting, run, job } = await startPlan(app, agent)

    expect((await job.result({ status: 'errored', message: 'a\0b\uD800' })).status).toBe(204)

    expect((await readRun(app, setting, run)).attributes['error-message']).toBe('a\u{FFFD}b\u{FFFD}')
  })
})

describe('the counts of an apply', () => {
  const counts = { additions: 1, changes: 2, destructions: 3, imports: 4 }

  test.each([
    ['are those of its plan if its agent reports none', 'finished', undefined, 1],
    ['are those that its agent reports', 'finished', { ...counts, additions: 7 }, 7],
    ['are unknown if it failed', 'errored', counts, null],
  ] as const)('%s', async (_, status, reported, additions) => {
    const { setting, run, job } = await startPlan(app, agent, { 'auto-apply': true })
    await job.finish({ counts })
    app.clock.advance(60_000)

    await (await agent.take()).finish({ status, ...(reported && { counts: reported }) })

    const { relationships } = await readRun(app, setting, run)
    const apply = await readPhase(setting, `applies/${relationships.apply.data.id}`)
    expect(apply).toMatchObject({ status, 'resource-additions': additions })
  })
})

describe('documents that follow the result of their plan', () => {
  async function owingPlan() {
    const started = await startPlan(app, agent, { 'auto-apply': true })
    await started.job.result({ owesDocuments: true, counts: { additions: 1, changes: 0, destructions: 0, imports: 0 } })
    const apply = await agent.take()
    await apply.finish()
    return started
  }

  test('may follow if the run is auto-applied', async () => {
    const itself = await startPlan(app, agent, { 'auto-apply': true })
    const pending = await startPlan(app, agent, { 'auto-apply': false })
    const only = await startPlan(app, agent, { 'plan-only': true, 'auto-apply': true })

    expect([itself, pending, only].map(({ job }) => job.documentsMayFollow)).toEqual([true, false, false])
    for (const { job } of [itself, pending, only]) await job.finish({ hasChanges: false })
  })

  test.each(['json-output', 'json-output-redacted'])('are awaited by requests for the %s', async (kind) => {
    const { setting, run, job } = await owingPlan()
    const pending = readJson(setting, run, kind)

    const sent = await job.documents({ 'plan-json': PLAN_JSON, 'plan-json-redacted': PLAN_JSON })

    expect(sent.status).toBe(204)
    expect((await pending).text).toBe(PLAN_JSON)
  })

  test('may arrive one by one, and then count', async () => {
    const { setting, run, job } = await owingPlan()
    await job.put('plan-json', PLAN_JSON)
    await job.put('plan-json-redacted', PLAN_JSON)
    await job.documents({}, { counts: { additions: 2, changes: 0, destructions: 0, imports: 0 } })

    expect((await readJson(setting, run)).text).toBe(PLAN_JSON)
    const plan = await app.request({ url: `/api/v2/runs/${run}/plan`, token: setting.user.token })
    expect(plan.json().data.attributes['resource-additions']).toBe(2)
  })

  test('that become unavailable are reported as such, also to waiting clients', async () => {
    const { setting, run, job } = await owingPlan()
    const pending = readJson(setting, run)
    await job.documents({}, { problem: 'the agent was killed' })

    const responses = [await pending, await readJson(setting, run)]

    expect(responses.map(({ status }) => status)).toEqual([422, 422])
    expect(responses[0]?.json().errors[0].detail).toContain('the agent was killed')
  })

  test('are accepted once, for a day, and without other files', async () => {
    const { job } = await owingPlan()
    const late = await owingPlan()

    const first = await job.documents({ 'plan-json': PLAN_JSON })
    const others = [await job.documents({ 'plan-json': '{}' }), await late.job.put('plan-file', 'zip')]
    app.clock.advance(24 * 3_600_000)
    others.push(await late.job.documents({ 'plan-json': PLAN_JSON }))

    expect(first.status).toBe(204)
    expect(others.map(({ status }) => status)).toEqual([409, 409, 409])
    expect((await readJson(late.setting, late.run)).status).toBe(422)
  })

  test('include no file that the apply would use', async () => {
    const { job } = await owingPlan()

    const refused = await job.documents({ 'plan-json': PLAN_JSON, 'plan-file': 'another plan' })

    expect(refused.status).toBe(400)
    expect(refused.json().errors[0].detail).toContain('plan-file')
  })

  test('are not awaited unless the run is auto-applied', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'plan-only': true })

    await job.result({ owesDocuments: true, hasChanges: true })

    expect((await readJson(setting, run)).status).toBe(204)
  })

  test('that are pending for long are not awaited', async () => {
    const { setting, run } = await owingPlan()
    app.clock.advance(3_600_000)

    const response = await readJson(setting, run)

    expect([response.status, response.headers['retry-after']]).toEqual([503, '5'])
  })

  test('of a plan that has not ended do not exist', async () => {
    const { setting, run, job } = await startPlan(app, agent, { 'auto-apply': true })

    expect((await readJson(setting, run)).status).toBe(204)
    expect((await job.documents({ 'plan-json': PLAN_JSON })).status).toBe(409)
    await job.finish({ hasChanges: false })
    expect((await readRun(app, setting, run)).attributes.status).toBe('planned_and_finished')
  })
})
