import type { Stage } from '@groundstate/contract/run-tasks'
import { CHANGE_TOPIC } from '../changes/feed.ts'
import { startTaskDeliveries } from '../features/tasks/task-results/delivery-loop.ts'
import type { TestApp, TestResponse } from './app.ts'
import { atEnd } from './cleanup.ts'
import { createFakeAgent, type FakeAgent } from './fake-agent.ts'
import { type TestReceiver, startReceiver } from './receiver.ts'
import { createRun, createRunSetting, readRun, type RunSetting } from './runs.ts'

/**
 * A workspace that is ready for runs, with an agent and a receiver. The user is a site administrator, who may see responses of the receiver, which
 * is on loopback.
 */
export type TaskSetting = RunSetting & { agent: FakeAgent; receiver: TestReceiver }

export async function createTaskSetting(app: TestApp, attributes: Record<string, unknown> = {}): Promise<TaskSetting> {
  const setting = await createRunSetting(app, attributes, { isSiteAdmin: true })
  return { ...setting, agent: await createFakeAgent(app), receiver: await startReceiver() }
}

/** Delivers requests and watches deadlines until the test ends, or the file. */
export function startDeliveries(app: TestApp) {
  const deliveries = startTaskDeliveries(app.as())
  atEnd(() => deliveries[Symbol.asyncDispose]())
}

/** Creates a task through the API and returns its id. */
export async function createTask(
  app: TestApp,
  { user, organization, receiver }: Pick<TaskSetting, 'user' | 'organization' | 'receiver'>,
  attributes: Record<string, unknown> = {},
): Promise<string> {
  const response = await postTask(app, { user, organization }, { url: receiver.url, ...attributes })
  if (response.status !== 201) throw new Error(`the task was refused: ${response.text}`)
  return response.json().data.id
}

let count = 0

export async function postTask(
  app: TestApp,
  { user, organization }: Pick<TaskSetting, 'user' | 'organization'>,
  attributes: Record<string, unknown>,
  relationships: Record<string, unknown> = {},
): Promise<TestResponse> {
  count += 1
  return app.request({
    method: 'POST',
    url: `/api/v2/organizations/${organization}/tasks`,
    token: user.token,
    body: {
      data: { type: 'tasks', attributes: { name: `task-${count}`, category: 'task', ...attributes }, relationships },
    },
  })
}

export async function attachTask(
  app: TestApp,
  { user, workspaceId }: Pick<TaskSetting, 'user' | 'workspaceId'>,
  { task, ...attributes }: { task: string; stages?: Stage[]; 'enforcement-level'?: 'advisory' | 'mandatory' },
): Promise<TestResponse> {
  return app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${workspaceId}/tasks`,
    token: user.token,
    body: {
      data: {
        type: 'workspace-tasks',
        attributes: { 'enforcement-level': 'mandatory', ...attributes },
        relationships: { task: { data: { type: 'tasks', id: task } } },
      },
    },
  })
}

/** Creates a task for the receiver and attaches it to the workspace. */
export async function addTask(
  app: TestApp,
  setting: TaskSetting,
  {
    stages,
    level = 'mandatory',
    ...attributes
  }: Record<string, unknown> & {
    stages: Stage[]
    level?: 'advisory' | 'mandatory'
  },
) {
  const task = await createTask(app, setting, attributes)
  const attached = await attachTask(app, setting, { task, stages, 'enforcement-level': level })
  if (attached.status !== 201) throw new Error(`the task was not attached: ${attached.text}`)
  return { task, workspaceTask: attached.json().data.id as string }
}

/** A run that waits for a mandatory task, and the request to the task. */
export async function createWaitingRun(app: TestApp, options: Partial<Parameters<typeof addTask>[2]> = {}) {
  const setting = await createTaskSetting(app)
  await addTask(app, setting, { stages: ['pre_plan'], ...options })
  const run = await createRun(app, setting, { message: 'Grow the \u2028 "cluster" <&>' })
  const asked = await setting.receiver.received(1)
  return { setting, run, asked, payload: asked.payload }
}

/** Sends a callback as a receiver does, with the token of the request. */
export async function callBack(
  app: TestApp,
  payload: { task_result_id: string; access_token: string },
  attributes: Record<string, unknown>,
  outcomes?: readonly Record<string, unknown>[],
): Promise<TestResponse> {
  return app.request({
    method: 'PATCH',
    url: `/api/v2/task-results/${payload.task_result_id}/callback`,
    token: payload.access_token,
    body: {
      data: {
        type: 'task-results',
        attributes,
        ...(outcomes && {
          relationships: {
            outcomes: { data: outcomes.map((outcome) => ({ type: 'task-result-outcomes', attributes: outcome })) },
          },
        }),
      },
    },
  })
}

export async function readResult(app: TestApp, { user }: Pick<TaskSetting, 'user'>, id: string) {
  return (await app.request({ url: `/api/v2/task-results/${id}`, token: user.token })).json().data
}

export async function outcomesOf(app: TestApp, { user }: Pick<TaskSetting, 'user'>, resultId: string) {
  return (await app.request({ url: `/api/v2/task-results/${resultId}/outcomes`, token: user.token })).json().data
}

export async function readStages(app: TestApp, { user }: Pick<TaskSetting, 'user'>, runId: string) {
  return (await app.request({ url: `/api/v2/runs/${runId}/task-stages`, token: user.token })).json().data
}

/** Ends the deferral of a failed stage; does nothing unless a stage of the run has failed. */
export async function passDeferral(app: TestApp, setting: Pick<TaskSetting, 'user'>, runId: string) {
  const stages = await readStages(app, setting, runId)
  if (!stages.some((stage: { attributes: { status: string } }) => stage.attributes.status === 'failed')) return
  app.clock.advance(5000)
  await app.runJobs()
}

/** Waits until the run has the status, by the signals of changes. */
export async function runReaches(
  app: TestApp,
  setting: Pick<RunSetting, 'user'>,
  { run, status }: { run: string; status: string },
) {
  using topic = app.signals.subscribe(CHANGE_TOPIC)
  for (;;) {
    const now = (await readRun(app, setting, run)).attributes.status
    if (now === status) return
    if (!(await topic.next({ timeoutMs: 10_000 }))) throw new Error(`the run is ${now}, it never became ${status}`)
  }
}

/** Polls until `read` returns a value, where there is no signal. */
export async function eventually<T>(read: () => Promise<T | undefined | false>): Promise<T> {
  const end = performance.now() + 10_000
  for (;;) {
    const value = await read()
    if (value !== undefined && value !== false) return value
    if (performance.now() > end) throw new Error('the condition was not met within 10 s')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** Finishes the next job of the run, a plan with this JSON, after any jobs of other runs. */
export async function finishNextJob(
  agent: FakeAgent,
  run: string,
  plan: Record<string, unknown> = { format_version: '1.2' },
) {
  for (;;) {
    const job = await agent.take()
    if (job.kind === 'plan') await job.put('plan-json', JSON.stringify(plan))
    await job.finish()
    if (job.runId === run) return
  }
}
