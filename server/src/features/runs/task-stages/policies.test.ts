import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { claimPoliciesOf, createEvaluatedRun, createPolicySet, reportPolicies } from '../../../testing/policies.ts'
import { actOnRun, createRun, readRun } from '../../../testing/runs.ts'
import { createTaskSetting, finishNextJob, passDeferral, readStages } from '../../../testing/task-runs.ts'
import { resumeEvaluations } from '../../policies/policy-evaluations/service.ts'

const app = await createTestApp()

type Setting = Awaited<ReturnType<typeof createTaskSetting>>

async function get(setting: Setting, url: string) {
  return (await app.request({ url: `/api/v2${url}`, token: setting.user.token })).json()
}

async function evaluationOf(setting: Setting, run: string) {
  const [stage] = await readStages(app, setting, run)
  const { included } = await get(setting, `/task-stages/${stage.id}?include=policy_evaluations`)
  const outcomes = await get(setting, `/policy-evaluations/${included[0].id}/policy-set-outcomes`)
  return { stage, evaluation: included[0], outcomes: outcomes.data }
}

const override = async (setting: Setting, stage: string, body: { comment?: string } = {}) =>
  app.request({
    method: 'POST',
    url: `/api/v2/task-stages/${stage}/actions/override`,
    token: setting.user.token,
    body,
  })

describe('a run of a workspace with policies', () => {
  test('has a post-plan stage with a pending evaluation from its creation', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{}] })

    const run = await createRun(app, setting)

    const { stage, evaluation, outcomes } = await evaluationOf(setting, run)
    expect(stage.attributes).toMatchObject({ stage: 'post_plan', status: 'pending' })
    expect(evaluation).toMatchObject({
      type: 'policy-evaluations',
      attributes: {
        status: 'pending',
        'policy-kind': 'opa',
        'result-count': { passed: 0, 'advisory-failed': 0, 'mandatory-failed': 0, errored: 0 },
      },
      relationships: { 'policy-attachable': { data: { type: 'task-stages', id: stage.id } } },
    })
    expect(outcomes).toEqual([])
  })

  test('hands an agent the rules, the plan and the data of the run', async () => {
    const setting = await createTaskSetting(app)
    const set = await createPolicySet(app, setting, { policies: [{ name: 'tags', query: 'data.tags.deny' }] })

    const { run, request } = await createEvaluatedRun(app, setting, { message: 'Grow' })

    expect(request).toMatchObject({
      opa: { version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
      sets: [{ id: set, policiesPath: '', parameters: {}, policies: [{ name: 'tags', query: 'data.tags.deny' }] }],
    })
    expect((await request.input()).json()).toMatchObject({
      plan: { format_version: '1.2' },
      run: { id: run, message: 'Grow', speculative: false, workspace: { id: setting.workspaceId, tags: [] } },
    })
    expect((await request.archive(set)).status).toBe(200)
    expect((await request.archive('polset-other')).status).toBe(404)
    expect((await request.heartbeat()).status).toBe(204)
    await reportPolicies(request)
  })

  test('continues when all policies pass', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{ name: 'a' }, { name: 'b', level: 'advisory' }] })
    const { run, request } = await createEvaluatedRun(app, setting)

    expect((await reportPolicies(request)).status).toBe(204)

    const { stage, evaluation, outcomes } = await evaluationOf(setting, run)
    expect((await readRun(app, setting, run)).attributes.status).toBe('post_plan_completed')
    expect([stage.attributes.status, evaluation.attributes.status]).toEqual(['passed', 'passed'])
    expect(evaluation.attributes['policy-tool-version']).toBe('1.4.2')
    expect(outcomes[0].attributes).toMatchObject({
      'policy-set-name': 'rules',
      result_count: { passed: 2, 'advisory-failed': 0, 'mandatory-failed': 0, errored: 0 },
      outcomes: [
        { policy_name: 'a', enforcement_level: 'mandatory', status: 'passed', output: [], error: null },
        { policy_name: 'b', enforcement_level: 'advisory', status: 'passed', output: [], error: null },
      ],
    })
    expect((await reportPolicies(request)).status).toBe(401)
  })

  test('continues with a warning when an advisory policy fails', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{ name: 'hint', level: 'advisory' }] })
    const { run, request } = await createEvaluatedRun(app, setting)

    await reportPolicies(request, { hint: { output: ['no owner tag'] } })

    const { stage, evaluation } = await evaluationOf(setting, run)
    expect((await readRun(app, setting, run)).attributes.status).toBe('post_plan_completed')
    expect(stage.attributes).toMatchObject({
      status: 'passed',
      message: 'the advisory policy hint of the set rules failed: no owner tag',
    })
    expect(evaluation.attributes['result-count']).toMatchObject({ 'advisory-failed': 1 })
  })

  test.each([
    ['fails', { output: ['a database is deleted'] }, 'failed: a database is deleted', 'failed'],
    [
      'cannot be evaluated',
      { status: 'errored', message: 'rules.rego:3: syntax error' },
      'errored: rules.rego:3: syntax error',
      'errored',
    ],
  ] as const)('stops when a mandatory policy %s', async (_, failure, reason, status) => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{ name: 'strict' }] })
    const { run, request } = await createEvaluatedRun(app, setting)

    await reportPolicies(request, { strict: { ...failure, output: [...('output' in failure ? failure.output : [])] } })
    await passDeferral(app, setting, run)
    app.clock.advance(5000)
    await app.runJobs()

    const { stage } = await evaluationOf(setting, run)
    const { attributes } = await readRun(app, setting, run)
    expect(attributes).toMatchObject({
      status: 'errored',
      'error-message': `the mandatory policy strict of the set rules ${reason}`,
    })
    expect(stage.attributes.status).toBe(status)
    expect((await override(setting, stage.id)).status).toBe(409)
  })

  test('fails when a plan-only run breaks an overridable policy: it cannot be applied', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { overridable: true, policies: [{ name: 'strict' }] })
    const { run, request } = await createEvaluatedRun(app, setting, { 'plan-only': true })

    await reportPolicies(request, { strict: { output: ['no'] } })
    app.clock.advance(5000)
    await app.runJobs()

    expect((await readRun(app, setting, run)).attributes.status).toBe('errored')
  })

  test('is not evaluated after a cancel, and the agent drops it', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{}] })
    const { run, request } = await createEvaluatedRun(app, setting)

    await actOnRun(app, setting, { run, action: 'cancel' })

    const { evaluation } = await evaluationOf(setting, run)
    expect(evaluation.attributes.status).toBe('canceled')
    expect((await request.heartbeat()).status).toBe(401)
    expect((await reportPolicies(request)).status).toBe(401)
  })

  test('passes when its sets lose their policies before the plan ends', async () => {
    const setting = await createTaskSetting(app)
    const set = await createPolicySet(app, setting, { policies: [{}] })
    const run = await createRun(app, setting)

    await app.request({ method: 'DELETE', url: `/api/v2/policy-sets/${set}`, token: setting.user.token })
    await (await setting.agent.take()).finish()
    await app.runJobs()

    const { evaluation } = await evaluationOf(setting, run)
    expect(evaluation.attributes.status).toBe('passed')
  })
})

describe('a failed policy of an overridable set', () => {
  async function waitingRun() {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { overridable: true, policies: [{ name: 'strict' }] })
    const { run, request } = await createEvaluatedRun(app, setting)
    await reportPolicies(request, { strict: { output: ['no'] } })
    return { setting, run, ...(await evaluationOf(setting, run)) }
  }

  test('waits for a decision', async () => {
    const { setting, run, stage } = await waitingRun()

    expect((await readRun(app, setting, run)).attributes.status).toBe('post_plan_awaiting_decision')
    expect(stage.attributes).toMatchObject({ status: 'awaiting_override', actions: { 'is-overridable': true } })
  })

  test('is overridden with a comment, by whom is recorded, and the run continues', async () => {
    const { setting, run, stage, evaluation } = await waitingRun()

    const response = await override(setting, stage.id, { comment: 'agreed with security' })

    expect(response.status).toBe(200)
    expect(response.json().data.attributes.status).toBe('passed')
    expect((await readRun(app, setting, run)).attributes.status).toBe('post_plan_completed')
    const after = await get(setting, `/policy-evaluations/${evaluation.id}`)
    expect(after.data).toMatchObject({
      attributes: { status: 'overridden', 'override-comment': 'agreed with security' },
      relationships: { 'overridden-by': { data: { type: 'users', id: setting.user.id } } },
    })
    const events = await get(setting, `/runs/${run}/run-events`)
    expect(events.data.map(({ attributes }: any) => attributes.action)).toContain('overrode_policies')
    expect((await override(setting, stage.id)).status).toBe(409)
  })

  test('can be discarded', async () => {
    const { setting, run } = await waitingRun()

    expect((await actOnRun(app, setting, { run, action: 'discard' })).status).toBe(202)

    expect((await readRun(app, setting, run)).attributes.status).toBe('discarded')
  })
})

describe('outcomes', () => {
  test.each([
    ['filter[0][status]=passed', 1],
    ['filter[0][status]=failed&filter[0][enforcement_level]=advisory', 0],
    ['filter[0][status]=errored&filter[1][status]=failed', 1],
  ])('are filtered by %s', async (query, count) => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{ name: 'a' }, { name: 'b' }] })
    const { run, request } = await createEvaluatedRun(app, setting)
    await reportPolicies(request, { b: { output: ['no'] } })
    const { evaluation } = await evaluationOf(setting, run)

    const list = await get(setting, `/policy-evaluations/${evaluation.id}/policy-set-outcomes?${query}`)

    expect(list.data).toHaveLength(count)
  })
})

describe('an agent', () => {
  test('that is lost loses its lease, and another one evaluates', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{}] })
    const { run, request } = await createEvaluatedRun(app, setting)

    app.clock.advance(46_000)
    const again = await setting.agent.claimPolicies({ waitMs: 3000 })

    expect(again?.id).toBe(request.id)
    expect((await request.heartbeat()).status).toBe(401)
    if (again) await reportPolicies(again)
    expect((await readRun(app, setting, run)).attributes.status).toBe('post_plan_completed')
  })

  test('that never comes fails the policies with the reason', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{ name: 'strict' }] })
    const run = await createRun(app, setting)
    const job = await setting.agent.take()
    await job.put('plan-json', '{"format_version":"1.2"}')
    await job.finish()
    await app.runJobs()

    app.clock.advance(10 * 60_000)
    await app.runJobs()

    const { evaluation, outcomes } = await evaluationOf(setting, run)
    expect(evaluation.attributes).toMatchObject({
      status: 'errored',
      message: expect.stringContaining('evaluated the policies within 10 minutes'),
    })
    expect(outcomes[0].attributes.outcomes).toMatchObject([
      { status: 'errored', description: expect.stringMatching(/^could not be evaluated: no agent of the pool /) },
    ])
  })

  test('gets policies whose preparation failed too often, after an hour', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{}] })
    const run = await createRun(app, setting)
    await finishNextJob(setting.agent, run)
    await sql`delete from pgboss.job where name = 'policy-evaluations.prepare'`.execute(app.db)

    await resumeEvaluations(app.as())
    await app.runJobs()
    const tooEarly = await evaluationOf(setting, run)
    app.clock.advance(3_600_001)
    await resumeEvaluations(app.as())
    await reportPolicies(await claimPoliciesOf(app, setting.agent, run))

    expect(tooEarly.evaluation.attributes.status).toBe('running')
    expect((await readRun(app, setting, run)).attributes.status).toBe('post_plan_completed')
  })

  test('that evaluates without end is not waited for longer than the limit', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{}] })
    const { request } = await createEvaluatedRun(app, setting)

    const renewals = []
    for (let halfMinutes = 1; halfMinutes < 20; halfMinutes += 1) {
      app.clock.advance(30_000)
      renewals.push((await request.heartbeat()).status)
    }
    app.clock.advance(30_000)

    expect(new Set(renewals)).toEqual(new Set([204]))
    expect((await request.heartbeat()).status).toBe(401)
  })
})

describe('the waiting reason of a run', () => {
  const reasonOf = async (setting: Setting, run: string) =>
    (await readRun(app, setting, run)).attributes['waiting-reason']

  test('names the pool while no agent evaluates its policies', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { policies: [{}] })
    const run = await createRun(app, setting)
    await finishNextJob(setting.agent, run)
    await app.runJobs()
    app.clock.advance(61_000)

    const alone = await reasonOf(setting, run)
    const request = await claimPoliciesOf(app, setting.agent, run)
    const evaluating = await reasonOf(setting, run)
    await reportPolicies(request)

    expect(alone).toBe('no agent of this server is online to evaluate its policies')
    expect(evaluating).toBeNull()
    expect(await reasonOf(setting, run)).toBeNull()
  })

  test('names the policy whose failure waits for an override', async () => {
    const setting = await createTaskSetting(app)
    await createPolicySet(app, setting, { overridable: true, policies: [{ name: 'strict' }] })
    const { run, request } = await createEvaluatedRun(app, setting)

    await reportPolicies(request, { strict: { output: ['no owner'] } })
    await passDeferral(app, setting, run)

    expect(await reasonOf(setting, run)).toBe(
      'failed policies must be overridden, or the run discarded: the mandatory policy strict of the set rules failed: no owner',
    )
  })
})
