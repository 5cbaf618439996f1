import { WORK_KINDS } from '@groundstate/contract/agent'
import type { Stage } from '@groundstate/contract/run-tasks'
import type { TestApp } from '../../../../testing/app.ts'
import { createFakeAgent, type FakeAgent } from '../../../../testing/fake-agent.ts'
import { createRun } from '../../../../testing/runs.ts'
import { attachTask, createTaskSetting, eventually, postTask, type TaskSetting } from '../../../../testing/task-runs.ts'
import { createPool, createPoolToken } from '../../../agents/agent-pools/testing/pools.ts'

export type PoolSetting = TaskSetting & { poolId: string; poolName: string; poolToken: string }

export function poolRelation(id: string | null) {
  return { 'agent-pool': { data: id === null ? null : { type: 'agent-pools', id } } }
}

/** A workspace that is ready for runs, and a pool with a token. */
export async function createPoolSetting(app: TestApp): Promise<PoolSetting> {
  const setting = await createTaskSetting(app)
  const pool = await createPool(app, setting, { name: 'cellar' })
  const token = await createPoolToken(app, setting, { poolId: pool.id })
  return { ...setting, poolId: pool.id, poolName: 'cellar', poolToken: token.attributes.token }
}

/** An agent of the pool that accepts all kinds of work. */
export async function createPoolAgent(app: TestApp, { poolToken }: PoolSetting, name = 'rack'): Promise<FakeAgent> {
  return createFakeAgent(app, { token: poolToken, name, accepts: WORK_KINDS })
}

/** Claims the verification request of a task, and reports 200. */
export async function answerVerification(agent: FakeAgent) {
  const request = await agent.claimTask({ waitMs: 5_000 })
  if (request?.payload.access_token !== 'test-token') throw new Error('no verification came')
  await request.response()
  return request
}

/** Creates a task of the pool; the agent delivers its verification. */
export async function createPoolTask(
  app: TestApp,
  setting: PoolSetting,
  { agent, ...attributes }: { agent: FakeAgent } & Record<string, unknown>,
): Promise<string> {
  // The server must know that this agent accepts requests.
  await agent.claimTask()
  const attributesOfTask = { url: 'http://receiver.inside/task', ...attributes }
  const posted = postTask(app, setting, attributesOfTask, poolRelation(setting.poolId))
  await answerVerification(agent)
  const response = await posted
  if (response.status !== 201) throw new Error(`the task was refused: ${response.text}`)
  return response.json().data.id
}

/** A run that waits for a task of the pool. Its request is not claimed yet. */
export async function createPoolRun(
  app: TestApp,
  setting: PoolSetting,
  { agent, stages = ['pre_plan'], ...attributes }: { agent: FakeAgent; stages?: Stage[] } & Record<string, unknown>,
) {
  const task = await createPoolTask(app, setting, { agent, ...attributes })
  const attached = await attachTask(app, setting, { task, stages })
  if (attached.status !== 201) throw new Error(`the task was not attached: ${attached.text}`)
  const run = await createRun(app, setting)
  const [stage] = (await app.request({ url: `/api/v2/runs/${run}/task-stages`, token: setting.user.token })).json().data
  return { task, run, id: stage.relationships['task-results'].data[0].id as string }
}

/** The next request that the agent gets. */
export async function takeTask(agent: FakeAgent) {
  return eventually(async () => agent.claimTask({ waitMs: 1_000 }))
}
