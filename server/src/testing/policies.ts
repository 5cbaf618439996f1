import type { TestApp, TestResponse } from './app.ts'
import type { FakeAgent, FakePolicyRequest } from './fake-agent.ts'
import { createRun, type RunSetting } from './runs.ts'
import { finishNextJob } from './task-runs.ts'

type Owner = Pick<RunSetting, 'user' | 'organization'>
type Policy = { name?: string; query?: string; level?: 'advisory' | 'mandatory'; code?: string }

async function created(response: TestResponse): Promise<string> {
  if (response.status !== 201) throw new Error(`the creation was refused: ${response.text}`)
  return response.json().data.id
}

/** Creates a policy with its code through the API. */
export async function createPolicy(app: TestApp, { user, organization }: Owner, policy: Policy = {}) {
  const { name = 'no-deletions', query = 'data.terraform.deny', level = 'mandatory' } = policy
  const attributes = { name, query, kind: 'opa', 'enforcement-level': level }
  const url = `/api/v2/organizations/${organization}/policies`
  const body = { data: { type: 'policies', attributes } }
  const id = await created(await app.request({ method: 'POST', url, token: user.token, body }))
  const code = Buffer.from(policy.code ?? 'package terraform\n\nimport rego.v1\n\ndeny contains "no" if false\n')
  await app.request({ method: 'PUT', url: `/api/v2/policies/${id}/upload`, token: user.token, body: code })
  return id
}

type Set = { name?: string; overridable?: boolean; policies: readonly Policy[] } & Record<string, unknown>

/** Creates a set with these policies, which applies to all workspaces of the organization by default. */
export async function createPolicySet(app: TestApp, owner: Owner, { policies, ...attributes }: Set) {
  const ids = []
  for (const policy of policies) ids.push(await createPolicy(app, owner, policy))
  return created(
    await app.request({
      method: 'POST',
      url: `/api/v2/organizations/${owner.organization}/policy-sets`,
      token: owner.user.token,
      body: {
        data: {
          type: 'policy-sets',
          attributes: { name: 'rules', kind: 'opa', global: true, ...attributes },
          relationships: { policies: { data: ids.map((id) => ({ type: 'policies', id })) } },
        },
      },
    }),
  )
}

/** A planned run whose policies an agent has claimed. */
export async function createEvaluatedRun(
  app: TestApp,
  setting: RunSetting & { agent: FakeAgent },
  attributes: Record<string, unknown> = {},
) {
  const run = await createRun(app, setting, attributes)
  await finishNextJob(setting.agent, run)
  return { run, request: await claimPoliciesOf(app, setting.agent, run) }
}

/** The policies of a run whose plan has just ended, as an agent of its pool gets them. */
export async function claimPoliciesOf(app: TestApp, agent: FakeAgent, run: string): Promise<FakePolicyRequest> {
  await app.runJobs()
  for (;;) {
    const request = await agent.claimPolicies({ waitMs: 1000 })
    if (!request) throw new Error('there are no policies to evaluate')
    // Earlier tests leave requests in the queue of the pool.
    if ((await request.input()).json().run.id === run) return request
    await reportPolicies(request)
  }
}

/** Reports a result for each policy of a request: by default it passes. */
export async function reportPolicies(
  request: FakePolicyRequest,
  failures: Readonly<Record<string, { status?: 'failed' | 'errored'; output?: string[]; message?: string }>> = {},
) {
  return request.report({
    opaVersion: '1.4.2',
    durationMs: 5,
    sets: request.sets.map(({ id, policies }) => ({
      id,
      policies: policies.map(({ name }) => {
        const failure = failures[name]
        return failure ? { name, status: 'failed' as const, ...failure } : { name, status: 'passed' as const }
      }),
    })),
  })
}
