import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { callBack, createWaitingRun, eventually, startDeliveries } from '../../../testing/task-runs.ts'

const app = await createTestApp()
await app.listen()
startDeliveries(app)

const PAGE = [
  'plan',
  'apply',
  'created_by',
  'configuration_version',
  'workspace.project',
  'workspace.locked_by',
  'task_stages.task_results.task_result_outcomes',
  'task_stages.task_results.deliveries',
  'run_events.actor',
  'comments.created_by',
].join()

type Resource = { id: string; type: string; attributes: any; relationships: any }

test('one request includes all that the run page shows', async () => {
  const { setting, run, payload } = await createWaitingRun(app)
  const { token } = setting.user
  const comment = { data: { type: 'comments', attributes: { body: 'please review' } } }
  await app.request({ method: 'POST', url: `/api/v2/runs/${run}/comments`, token, body: comment })
  await callBack(app, payload, { status: 'running', message: 'looking' }, [
    { 'outcome-id': 'A1', description: 'a bucket is public', body: '# Public' },
    { 'outcome-id': 'A2', description: 'a key is old' },
  ])
  const url = `/api/v2/runs/${run}?include=${PAGE}`
  const included = await eventually(async () => {
    const response = await app.request({ url, token })
    expect(response.status).toBe(200)
    const found: Resource[] = response.json().included
    return found.some(({ type }) => type === 'task-deliveries') && found
  })

  const of = (type: string) => included.filter((resource) => resource.type === type)
  const counts = Object.entries(Object.groupBy(included, ({ type }) => type)).map(([type, all = []]) => [
    type,
    all.length,
  ])
  expect(Object.fromEntries(counts)).toMatchObject({
    applies: 1,
    comments: 1,
    'configuration-versions': 1,
    plans: 1,
    projects: 1,
    'task-deliveries': 1,
    'task-result-outcomes': 2,
    'task-results': 1,
    'task-stages': 1,
    users: 1,
    workspaces: 1,
  })
  const [result] = of('task-results')
  expect(result?.relationships['task-result-outcomes'].data).toEqual(
    of('task-result-outcomes').map(({ id, type }) => ({ id, type })),
  )
  expect(result?.relationships.deliveries.data).toHaveLength(1)
  expect(of('run-events').map(({ attributes }) => attributes.action)).toContain('commented')
})
