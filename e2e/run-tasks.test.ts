import type { Stage } from '@groundstate/contract/run-tasks'
import { beforeAll, describe, expect, test } from 'vitest'
import { startExampleReceiver } from '../server/src/testing/example-receiver.ts'
import { type Received, type TestReceiver, startReceiver } from '../server/src/testing/receiver.ts'
import { eventually } from '../server/src/testing/task-runs.ts'
import { type BootedServer, bootServer } from './server.ts'
import { cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'

const RESOURCE = 'resource "terraform_data" "greeting" { input = "hello" }\n'

type Result = { status: 'passed' | 'failed'; message: string; url?: string; outcomes?: readonly unknown[] }

/** Lets a receiver respond to the request and then call back with a result. */
function judge(receiver: TestReceiver, verdict: (received: Received) => Result) {
  receiver.onRequest = async (received, response) => {
    response.end()
    const { outcomes, ...attributes } = verdict(received)
    const data = (outcomes ?? []).map((outcome) => ({ type: 'task-result-outcomes', attributes: outcome }))
    await fetch(received.payload.task_result_callback_url, {
      method: 'PATCH',
      headers: {
        authorization: `Bearer ${received.payload.access_token}`,
        'content-type': 'application/vnd.api+json',
      },
      body: JSON.stringify({ data: { type: 'task-results', attributes, relationships: { outcomes: { data } } } }),
    })
  }
}

describe.skipIf(!hasTerraform).concurrent('run tasks as terraform shows them', () => {
  let server: BootedServer
  beforeAll(async () => {
    server = await bootServer()
  })

  /** A directory with a configuration whose workspace has a task. */
  async function askingDirectory(
    name: string,
    task: { url: string; stages: readonly Stage[]; level?: 'advisory' | 'mandatory'; hmacKey?: string },
  ) {
    const workspace = (
      await server.api('POST', '/organizations/main/workspaces', { data: { type: 'workspaces', attributes: { name } } })
    ).data
    const { id } = (
      await server.api('POST', '/organizations/main/tasks', {
        data: {
          type: 'tasks',
          attributes: { name: `task-${name}`, url: task.url, category: 'task', 'hmac-key': task.hmacKey ?? null },
        },
      })
    ).data
    await server.api('POST', `/workspaces/${workspace.id}/tasks`, {
      data: {
        type: 'workspace-tasks',
        attributes: { 'enforcement-level': task.level ?? 'mandatory', stages: task.stages },
        relationships: { task: { data: { type: 'tasks', id } } },
      },
    })
    const directory = await terraformDirectory(server, { 'main.tf': cloudBlock(name) + RESOURCE })
    await directory.ok(['init', '-input=false'])
    return { directory, lastRun: async () => (await server.api('GET', `/workspaces/${workspace.id}/runs`)).data[0] }
  }

  const apply = ['apply', '-auto-approve', '-input=false']

  test.each([
    { at: 'pre_plan', heading: 'Pre-plan Tasks:', isPlanned: false },
    { at: 'post_plan', heading: 'Post-plan Tasks:', isPlanned: true },
    { at: 'pre_apply', heading: 'Pre-apply Tasks:', isPlanned: true },
  ] as const)('a mandatory task that fails at $at stops the run and says why', async ({ at, heading, isPlanned }) => {
    const receiver = await startReceiver()
    judge(receiver, () => ({ status: 'failed', message: 'port 22 is open', url: 'https://receiver.example/22' }))
    const name = `mandatory-${at.replace('_', '-')}`
    const { directory, lastRun } = await askingDirectory(name, { url: receiver.url, stages: [at] })

    const result = await directory.run(apply)

    expect(result.code).toBe(1)
    expect(result.all).toContain(heading)
    expect(result.all).toContain('All tasks completed! 0 passed, 1 failed')
    expect(result.all).toMatch(new RegExp(`task-${name} \\S+ +Failed \\(Mandatory\\)`))
    expect(result.all).toContain('port 22 is open')
    expect(result.all).toContain('Details: https://receiver.example/22')
    expect(result.all).toContain(`the run task, task-${name}, is required to succeed`)
    expect(result.all.includes('terraform_data.greeting will be created')).toBe(isPlanned)
    expect(result.all).not.toContain('Apply complete')
    const run = await lastRun()
    expect(run.attributes).toMatchObject({
      status: 'errored',
      'error-message': `the mandatory task task-${name} failed: port 22 is open`,
    })
    const stages = (await server.api('GET', `/runs/${run.id}/task-stages`)).data
    expect(stages.map(({ attributes }: any) => [attributes.stage, attributes.status])).toEqual([[at, 'failed']])
    // A failed mandatory task cannot be overridden.
    await server.api('POST', `/task-stages/${stages[0].id}/actions/override`, {}, { expect: 409 })
  })

  test('a mandatory post-apply task that fails reverts nothing', async () => {
    const receiver = await startReceiver()
    judge(receiver, () => ({ status: 'failed', message: 'it costs too much' }))
    const { directory, lastRun } = await askingDirectory('mandatory-post-apply', {
      url: receiver.url,
      stages: ['post_apply'],
    })

    const result = await directory.run(apply)

    expect(result.code).toBe(0)
    expect(result.all).toContain('Apply complete! Resources: 1 added')
    // terraform exits at the end of the apply, before the task's result.
    const run = await eventually(async () => {
      const found = await lastRun()
      return found.attributes['status-timestamps']['applied-at'] !== undefined && found
    })
    const stages = (await server.api('GET', `/runs/${run.id}/task-stages`)).data
    expect(run.attributes.status).toBe('applied')
    expect(stages[0].attributes).toMatchObject({
      stage: 'post_apply',
      status: 'failed',
      message: 'the mandatory task task-mandatory-post-apply failed: it costs too much',
    })
  })

  test('an advisory task that fails warns, and the run continues', async () => {
    const receiver = await startReceiver()
    judge(receiver, () => ({ status: 'failed', message: 'no owner tag' }))
    const { directory, lastRun } = await askingDirectory('advisory', {
      url: receiver.url,
      stages: ['pre_plan', 'post_plan'],
      level: 'advisory',
    })

    const result = await directory.run(apply)

    expect(result.code).toBe(0)
    expect(result.all).toContain('Pre-plan Tasks:')
    expect(result.all).toContain('Post-plan Tasks:')
    expect(result.all).toMatch(/task-advisory \S+ +Failed \(Advisory\)/)
    expect(result.all).toContain('no owner tag')
    expect(result.all).toContain('Overall Result: Passed with advisory failures')
    expect(result.all).toContain('Apply complete! Resources: 1 added')
    expect((await lastRun()).attributes.status).toBe('applied')
  })

  test('the example receiver passes a plan and rejects one that destroys resources', async () => {
    const receiver = await startExampleReceiver({ HMAC_KEY: 'key' })
    const { directory, lastRun } = await askingDirectory('example', {
      url: receiver.url,
      stages: ['post_plan'],
      hmacKey: 'key',
    })

    const passed = await directory.run(apply)
    const refused = await directory.run(['destroy', '-auto-approve', '-input=false'])

    expect(passed.code).toBe(0)
    expect(passed.all).toContain('All tasks completed! 1 passed, 0 failed')
    expect(passed.all).toMatch(/task-example \S+ +Passed/)
    expect(passed.all).toContain('0 of 1 changes destroy something, 0 may')
    expect(refused.code).toBe(1)
    expect(refused.all).toContain('1 of 1 changes destroy something, 0 may')
    const run = await lastRun()
    const [stage] = (await server.api('GET', `/runs/${run.id}/task-stages`)).data
    const outcomes = await server.api('GET', `/task-results/${stage.relationships['task-results'].data[0].id}/outcomes`)
    expect(outcomes.data[0].attributes).toMatchObject({
      'outcome-id': 'terraform_data.greeting',
      description: 'terraform_data.greeting is destroyed',
      tags: [{ label: 'status', value: [{ label: 'Refused', level: 'error' }] }, { label: 'type' }],
    })
  })
})
