import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createRun } from '../../../testing/runs.ts'
import { callBack, outcomesOf, readResult, runReaches, startDeliveries } from '../../../testing/task-runs.ts'
import { compactLogs, expirePlans } from '../../runs/plans/jobs.ts'
import { expireDeliveries } from './jobs.ts'
import { loggedDeliveries, readDeliveries, requestedRun } from './testing/deliveries.ts'

const DAY_MS = 86_400_000
const signal = new AbortController().signal

test('deliveries expire, and the result is kept', async () => {
  const app = await createTestApp({
    GROUNDSTATE_DELIVERY_RETENTION_DAYS: '30',
    GROUNDSTATE_LOG_RETENTION_DAYS: '60',
  })
  startDeliveries(app)
  const { setting, run, payload, id } = await requestedRun(app)
  await loggedDeliveries(app, setting, { id, count: 1 })
  const outcome = { 'outcome-id': 'one', description: 'checked', body: '# All is well' }
  await callBack(app, payload, { status: 'passed', message: 'fine' }, [outcome])
  await runReaches(app, setting, { run, status: 'plan_queued' })
  const job = await setting.agent.take()
  await job.log('planned\n')
  await job.finish({ hasChanges: false })
  await compactLogs(app.as(), new Date(app.now().getTime() + 1), signal)

  // The run is the current one of its workspace, so its data is kept.
  app.clock.advance(40 * DAY_MS)
  await expireDeliveries(app.as(), signal)
  expect(await readDeliveries(app, setting, id)).toHaveLength(1)
  const next = await createRun(app, setting)
  await runReaches(app, setting, { run: next, status: 'pre_plan_running' })

  await expireDeliveries(app.as(), signal)
  await expirePlans(app.as(), signal)

  expect(await readDeliveries(app, setting, id)).toEqual([])
  const { attributes } = await readResult(app, setting, id)
  expect(attributes).toMatchObject({ status: 'passed', message: 'fine', 'delivery-attempts': 1 })
  const [first] = await outcomesOf(app, setting, id)
  expect(first.attributes).toMatchObject({ description: 'checked', 'has-body': true })

  app.clock.advance(30 * DAY_MS)
  await expirePlans(app.as(), signal)

  // The texts of outcomes are as long as logs, and are kept as long.
  const [last] = await outcomesOf(app, setting, id)
  expect(last.attributes).toMatchObject({ description: 'checked', 'has-body': false })
})
