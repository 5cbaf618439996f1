import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { eventually, startDeliveries } from '../../../testing/task-runs.ts'
import { sampleReceiver } from './parts.ts'
import { type Owner, createOwner, idOf, makeSample, read, readSample, send } from './testing/samples.ts'

// Run tasks must not call private addresses here, but the sample's receiver is exempt.
const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' })
await app.listen()
startDeliveries(app)

/** A JSON plan with each kind of change. */
const PLAN = {
  format_version: '1.2',
  resource_changes: [
    {
      address: 'module.firewall.terraform_data.rule["https"]',
      change: { actions: ['create'], after: { input: { source: '0.0.0.0/0' } } },
    },
    { address: 'terraform_data.network', change: { actions: ['update'], after: {} } },
    { address: 'terraform_data.gateway', change: { actions: ['delete', 'create'], after: {} } },
    { address: 'module.subnet["data"].terraform_data.subnet', change: { actions: ['delete'], after: null } },
    { address: 'terraform_data.same', change: { actions: ['no-op'], after: {} } },
  ],
  output_changes: { vpn_password: { after_sensitive: true }, name: { after_sensitive: false } },
}

/** A sample whose network run has planned, and its task result. */
async function createPlanned(owner: Owner, plan: unknown = PLAN) {
  await makeSample(owner)
  await app.runJobs()
  const agent = await createFakeAgent(app)
  const sample = await readSample(owner)
  for (;;) {
    const job = await agent.take()
    if (job.runId === idOf(sample, 'run')) {
      await job.put('plan-json', JSON.stringify(plan))
      await job.finish()
      break
    }
    await job.finish()
  }
  const [stage] = await read(owner, `/runs/${idOf(sample, 'run')}/task-stages`)
  return { sample, resultId: stage.relationships['task-results'].data[0].id as string }
}

/** Runs the receiver's jobs until the task result is final. */
async function finalResult(owner: Owner, resultId: string) {
  return eventually(async () => {
    await app.runJobs()
    const result = await read(owner, `/task-results/${resultId}`)
    return result.attributes.status === 'running' || result.attributes.status === 'pending' ? undefined : result
  })
}

describe('the receiver of the sample', () => {
  test('reviews the plan and reports findings, with tags of each level', async () => {
    const owner = await createOwner(app)
    const { resultId } = await createPlanned(owner)

    const result = await finalResult(owner, resultId)

    expect(result.attributes).toMatchObject({
      status: 'passed',
      message: '1 to create, 1 to change, 1 to replace, 1 to destroy; 3 findings',
    })
    const outcomes = await read(owner, `/task-results/${resultId}/outcomes`)
    expect(outcomes.map(({ attributes }: any) => attributes.description)).toEqual([
      'Planned changes',
      'Destroyed or replaced: module.subnet["data"].terraform_data.subnet, terraform_data.gateway',
      'Open to the whole internet: module.firewall.terraform_data.rule["https"]',
      'Sensitive outputs: vpn_password',
    ])
    const tags = outcomes.flatMap(({ attributes }: any) => attributes.tags.flatMap((group: any) => group.value))
    expect(new Set(tags.map(({ level }: any) => level))).toEqual(new Set(['none', 'info', 'warning', 'error']))
    const body = await send(owner, ['GET', `/task-result-outcomes/${outcomes[0].id}/body`])
    expect(body.text).toContain('| create | 1 | `module.firewall.terraform_data.rule["https"]` |')
  })

  test('reports a plan that it cannot read', async () => {
    const owner = await createOwner(app)
    const { resultId } = await createPlanned(owner, { resource_changes: 'none' })

    const result = await finalResult(owner, resultId)

    expect(result.attributes.status).toBe('passed')
    expect(result.attributes.message).toMatch(/^the plan could not be read: /)
  })

  test('is requested like any other: the delivery is recorded and shown', async () => {
    const owner = await createOwner(app)
    const { resultId } = await createPlanned(owner)

    await finalResult(owner, resultId)

    const [delivery] = await eventually(async () => {
      const found = await read(owner, `/task-results/${resultId}/deliveries`)
      return found.length > 0 && found
    })
    expect(delivery.attributes).toMatchObject({
      request: { url: `${app.baseUrl}/_sample/review` },
      response: { status: 200, 'is-withheld': false },
    })
  })

  test('passes the test of its task', async () => {
    const owner = await createOwner(app)
    const sample = (await makeSample(owner)).json().data

    const response = await send(owner, ['POST', `/tasks/${idOf(sample, 'task')}/actions/test`])

    expect(response.json().data.attributes).toMatchObject({ passed: true })
  })

  test('rejects a request not signed by the task of a sample', async () => {
    const owner = await createOwner(app)
    const other = await createOwner(app)
    const sample = (await makeSample(owner)).json().data
    const foreign = (await makeSample(other)).json().data
    const body = requestBody(owner)

    const unsigned = await sendRequest(body, '')
    const wrong = await sendRequest(body, signature(body, foreign.id))
    const unknown = await sendRequest('{}', signature('{}', sample.id))

    expect([unsigned.status, wrong.status, unknown.status]).toEqual([401, 401, 401])
    expect(unsigned.json().errors[0].detail).toContain('not signed')
  })

  test('calls only this server', async () => {
    const owner = await createOwner(app)
    const sample = (await makeSample(owner)).json().data
    const body = requestBody(owner, { task_result_callback_url: 'http://169.254.169.254/latest' })

    const response = await sendRequest(body, signature(body, sample.id))

    expect(response.status).toBe(400)
    expect(response.json().errors[0].detail).toBe(
      `the callback URL is http://169.254.169.254/latest; it must be on ${app.baseUrl}`,
    )
  })
})

test('a task created under another address of the server is updated', async () => {
  const owner = await createOwner(app)
  const sample = (await makeSample(owner)).json().data
  const former = 'http://former.example/_sample/review'
  await app.db.updateTable('tasks').set({ url: former }).where('id', '=', idOf(sample, 'task')).execute()

  await makeSample(owner)

  const task = await read(owner, `/tasks/${idOf(sample, 'task')}`)
  expect(task.attributes.url).toBe(`${app.baseUrl}/_sample/review`)
})

function requestBody({ organization }: Owner, changes: object = {}) {
  return JSON.stringify({
    payload_version: 1,
    stage: 'post_plan',
    access_token: 'a-token',
    organization_name: organization,
    run_app_url: `${app.baseUrl}/app`,
    task_result_id: 'taskrs-1',
    task_result_callback_url: `${app.baseUrl}/api/v2/task-results/taskrs-1/callback`,
    ...changes,
  })
}

function signature(body: string, sampleId: string) {
  return createHmac('sha512', sampleReceiver(app, sampleId).hmacKey).update(body).digest('hex')
}

async function sendRequest(body: string, signed: string) {
  return app.request({ method: 'POST', url: '/_sample/review', body, headers: { 'x-svc-task-signature': signed } })
}
