import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent, type FakeJob } from '../../../testing/fake-agent.ts'
import { startPlan } from './testing/jobs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

type Setting = Awaited<ReturnType<typeof startPlan>>['setting']
type Place = { organization: string; workspace: string }

async function rename({ user, organization, workspaceId }: Setting, place: Place) {
  const changes = [
    { type: 'workspaces', path: `/workspaces/${workspaceId}`, name: place.workspace },
    { type: 'organizations', path: `/organizations/${organization}`, name: place.organization },
  ]
  for (const { type, path, name } of changes) {
    const body = { data: { type, attributes: { name } } }
    const res = await app.request({ method: 'PATCH', url: `/api/v2${path}`, token: user.token, body })
    expect(res.status).toBe(200)
  }
}

/** The resources that the engine of a job finds under these names. */
async function found({ engineToken }: FakeJob, { organization, workspace }: Place) {
  const read = async (path: string) =>
    app.request({ url: `/api/v2/organizations/${organization}${path}`, token: engineToken })
  const [named, entitlements] = await Promise.all([read(`/workspaces/${workspace}`), read('/entitlement-set')])
  return { workspace: named.json().data?.id, entitlements: entitlements.status }
}

test('an engine finds its workspace by the names of its plan until the apply ends, and by new ones', async () => {
  const { setting, job: plan } = await startPlan(app, agent, { 'auto-apply': true })
  const old = { organization: plan.organizationName, workspace: plan.workspaceName }
  const next = { organization: `${old.organization}-renamed`, workspace: 'renamed' }
  const own = { workspace: setting.workspaceId, entitlements: 200 }

  await rename(setting, next)

  expect(await found(plan, old)).toEqual(own)
  expect(await found(plan, next)).toEqual(own)
  await plan.finish()
  const apply = await agent.take()
  expect(apply).toMatchObject({ organizationName: old.organization, workspaceName: old.workspace })
  expect(await found(apply, old)).toEqual(own)
  await apply.finish()
})

test('an engine does not get a workspace that was given the old names', async () => {
  const { setting, job } = await startPlan(app, agent)
  const old = { organization: job.organizationName, workspace: job.workspaceName }
  await rename(setting, { organization: `${old.organization}-renamed`, workspace: 'renamed' })
  const post = async (path: string, type: string, attributes: object) =>
    app.request({
      method: 'POST',
      url: `/api/v2${path}`,
      token: setting.user.token,
      body: { data: { type, attributes } },
    })

  const taken = [
    await post('/organizations', 'organizations', { name: old.organization, email: 'ops@example.com' }),
    await post(`/organizations/${old.organization}/workspaces`, 'workspaces', { name: old.workspace }),
    await post(`/organizations/${old.organization}-renamed/workspaces`, 'workspaces', { name: old.workspace }),
  ]

  expect(taken.map(({ status }) => status)).toEqual([201, 201, 201])
  expect(await found(job, old)).toEqual({ workspace: setting.workspaceId, entitlements: 200 })
  await job.finish({ hasChanges: false })
})

test('the next run has only the new names', async () => {
  const { setting, run, job } = await startPlan(app, agent)
  const old = { organization: job.organizationName, workspace: job.workspaceName }
  await job.finish({ hasChanges: false })
  await rename(setting, { organization: `${old.organization}-renamed`, workspace: 'renamed' })

  const second = await app.request({
    method: 'POST',
    url: '/api/v2/runs',
    token: setting.user.token,
    body: {
      data: { type: 'runs', relationships: { workspace: { data: { type: 'workspaces', id: setting.workspaceId } } } },
    },
  })
  const next = await agent.take()

  expect(second.json().data.id).not.toBe(run)
  expect(next.workspaceName).toBe('renamed')
  expect(await found(next, old)).toEqual({ workspace: undefined, entitlements: 404 })
  await next.finish({ hasChanges: false })
})
