import type { TestApp } from '../../../../testing/app.ts'
import { createRun } from '../../../../testing/runs.ts'
import { addTask, createTaskSetting, eventually, type TaskSetting } from '../../../../testing/task-runs.ts'

export async function readDeliveries(app: TestApp, { user }: Pick<TaskSetting, 'user'>, resultId: string) {
  return (await app.request({ url: `/api/v2/task-results/${resultId}/deliveries`, token: user.token })).json().data
}

/** Resolves with the deliveries of a result once there are `count`. */
export async function loggedDeliveries(
  app: TestApp,
  setting: TaskSetting,
  { id, count }: { id: string; count: number },
) {
  return eventually(async () => {
    const rows = await readDeliveries(app, setting, id)
    return rows.length >= count && rows
  })
}

/** A run whose pre-plan request was sent, after `prepare` has set the receiver's response. */
export async function requestedRun(
  app: TestApp,
  attributes: Record<string, unknown> = {},
  prepare: (setting: TaskSetting) => unknown = () => {},
) {
  const setting = await createTaskSetting(app)
  const { task } = await addTask(app, setting, { stages: ['pre_plan'], ...attributes })
  prepare(setting)
  const run = await createRun(app, setting)
  const { payload } = await setting.receiver.received(1)
  return { setting, run, payload, task, id: payload.task_result_id }
}

export async function redeliver(app: TestApp, { user }: Pick<TaskSetting, 'user'>, resultId: string) {
  return app.request({ method: 'POST', url: `/api/v2/task-results/${resultId}/actions/redeliver`, token: user.token })
}
