import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { startExampleReceiver } from '../../../testing/example-receiver.ts'
import { createRun, readRun } from '../../../testing/runs.ts'
import {
  addTask,
  createTaskSetting,
  eventually,
  passDeferral,
  postTask,
  readStages,
  runReaches,
  startDeliveries,
  finishNextJob,
} from '../../../testing/task-runs.ts'

/** The receiver that users copy, run as a program. */

const app = await createTestApp()
await app.listen()
startDeliveries(app)
const receiver = await startExampleReceiver({ HMAC_KEY: 'key', MAX_DESTROYED: '1' })

const destroyed = (address: string, ...actions: string[]) => ({
  address,
  type: 'terraform_data',
  change: { actions },
})

async function plannedRun(resourceChanges: unknown[]) {
  const setting = await createTaskSetting(app)
  await addTask(app, setting, {
    stages: ['pre_plan', 'post_plan'],
    url: receiver.url,
    'hmac-key': 'key',
    name: 'limit',
  })
  const run = await createRun(app, setting)
  await runReaches(app, setting, { run, status: 'plan_queued' })
  await finishNextJob(setting.agent, run, { format_version: '1.2', resource_changes: resourceChanges })
  return { setting, run }
}

describe('the receiver in examples/', () => {
  test('responds to the verification request', async () => {
    const setting = await createTaskSetting(app)

    const created = await postTask(app, setting, { url: receiver.url, 'hmac-key': 'key' })

    expect(created.status).toBe(201)
    // A program's output is read separately from its response and may arrive later.
    await expect.poll(() => receiver.output()).toContain('verified')
  })

  test('rejects a request that is signed with another key', async () => {
    const setting = await createTaskSetting(app)

    const refused = await postTask(app, setting, { url: receiver.url, 'hmac-key': 'other' })

    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].detail).toContain('the response was 401: the signature is wrong')
  })

  test('passes a plan that complies with the rule', async () => {
    const { setting, run } = await plannedRun([
      destroyed('terraform_data.a', 'create'),
      destroyed('terraform_data.b', 'no-op'),
      destroyed('terraform_data.c', 'delete'),
    ])

    await runReaches(app, setting, { run, status: 'post_plan_completed' })

    const [, stage] = await readStages(app, setting, run)
    expect(stage.attributes.status).toBe('passed')
  })

  test('rejects a plan that violates the rule, with an outcome per resource', async () => {
    const { setting, run } = await plannedRun([
      destroyed('terraform_data.a', 'delete'),
      destroyed('terraform_data.b', 'delete', 'create'),
      destroyed('terraform_data.c', 'create'),
    ])

    await eventually(async () => {
      await passDeferral(app, setting, run)
      return (await readRun(app, setting, run)).attributes.status === 'errored'
    })

    const message = 'the mandatory task limit failed: 2 of 3 changes destroy something, 1 may'
    expect((await readRun(app, setting, run)).attributes['error-message']).toBe(message)
    const stages = await readStages(app, setting, run)
    const { id } = stages[1].relationships['task-results'].data[0]
    const outcomes = await app.request({ url: `/api/v2/task-results/${id}/outcomes`, token: setting.user.token })
    expect(outcomes.json().data.map(({ attributes }: any) => attributes)).toMatchObject([
      {
        'outcome-id': 'terraform_data.a',
        description: 'terraform_data.a is destroyed',
        tags: [
          { label: 'status', value: [{ label: 'Refused', level: 'error' }] },
          { label: 'type', value: [{ label: 'terraform_data', level: 'none' }] },
        ],
        'has-body': true,
      },
      { 'outcome-id': 'terraform_data.b', description: 'terraform_data.b is replaced' },
    ])
  })

  test('has less than 150 lines and no dependencies', async () => {
    const path = join(import.meta.dirname, '../../../../../examples/run-task-receiver/receiver.mjs')
    const source = await readFile(path, 'utf8')

    const imports = [...source.matchAll(/^import .* from '(.+)'$/gm)].map(([, name]) => name)

    expect(source.split('\n').length).toBeLessThan(150)
    expect(imports).toEqual(['node:crypto', 'node:http'])
  })
})
