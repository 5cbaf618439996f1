import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { startPlan } from '../agent-jobs/testing/jobs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

test.each(['', ' '.repeat(200_000), ' '.repeat(5_000_000)])(
  'the plan without sensitive values hides those of the workspace',
  async (padding) => {
    const { setting, run, job } = await startPlan(app, agent)
    const token = setting.user.token
    const change = { actions: ['update'], before: { input: 'old-key' }, after: { input: 'new-key', n: 1 } }
    const plan = { resource_changes: [{ address: 'terraform_data.a', change }], output_changes: {} }
    const file = JSON.stringify(plan) + padding
    for (const kind of ['plan-json', 'plan-json-redacted'] as const) await job.put(kind, file)
    await job.result({ hasChanges: true })
    const read = async (kind: string) => app.request({ url: `/api/v2/runs/${run}/plan/${kind}`, token })

    const before = await read('json-output-redacted')
    const attributes = { key: 'key', value: 'new-key', category: 'env', sensitive: true }
    const created = await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${setting.workspaceId}/vars`,
      token,
      body: { data: { type: 'vars', attributes } },
    })
    const redacted = await read('json-output-redacted')
    const path = `/api/v2/workspaces/${setting.workspaceId}/vars/${created.json().data.id}`
    await app.request({ method: 'DELETE', url: path, token })
    const later = await read('json-output-redacted')
    const whole = await read('json-output')

    expect(before.text === file).toBe(true)
    expect(redacted.text).not.toMatch(/old-key|new-key/)
    expect(redacted.json().resource_changes[0].change).toMatchObject({
      before: { input: '(sensitive value)' },
      after: { input: '(changed sensitive value)', n: 1 },
      before_sensitive: { input: true },
      after_sensitive: { input: true },
    })
    expect(later.json()).toEqual(redacted.json())
    expect(whole.text === file).toBe(true)
  },
)
