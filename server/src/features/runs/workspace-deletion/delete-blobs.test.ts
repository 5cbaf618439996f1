import { expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { type RunSetting, createRun, createRunSetting } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'
import { sweepOrphans } from '../../states/state-versions/jobs.ts'
import { sweepArchives } from '../configuration-versions/jobs.ts'
import { compactLogs, sweepRunBlobs } from '../plans/jobs.ts'

const DAY_MS = 86_400_000
const signal = new AbortController().signal

async function blobs(app: TestApp) {
  const kinds: string[] = []
  for await (const { keys } of app.blobs.list('')) kinds.push(...keys.map((key) => key.split('/', 1)[0] ?? ''))
  return kinds.toSorted((a, b) => a.localeCompare(b))
}

async function sweepAll(app: TestApp) {
  await sweepOrphans(app.as(), signal)
  await sweepRunBlobs(app.as(), signal)
  await sweepArchives(app.as(), signal)
}

/** A workspace with an archive, a plan, a log and a state as blobs. */
async function workspaceWithBlobs(app: TestApp): Promise<RunSetting> {
  const setting = await createRunSetting(app)
  await createRun(app, setting, { 'auto-apply': true })
  const agent = await createFakeAgent(app)
  const plan = await agent.take()
  await plan.log('a line\n')
  await plan.put('plan-json', '{}')
  await plan.finish({ hasChanges: false })
  app.clock.advance(DAY_MS)
  await compactLogs(app.as(), app.now(), signal)
  const client = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, setting.user.token)
  await client.lock()
  await client.create(rawState({ resources: ['big'], padding: 400_000 }))
  return setting
}

test('the blobs of a deleted workspace are swept after two days, and no others', async () => {
  const app = await createTestApp()
  const deleted = await workspaceWithBlobs(app)
  await workspaceWithBlobs(app)
  const before = await blobs(app)
  await app.request({ method: 'DELETE', url: `/api/v2/workspaces/${deleted.workspaceId}`, token: deleted.user.token })

  app.clock.advance(3 * DAY_MS)
  await sweepAll(app)

  const kinds = ['configurations', 'logs', 'runs', 'state-versions']
  expect(before).toEqual(kinds.flatMap((kind) => [kind, kind]))
  expect(await blobs(app)).toEqual(kinds)
})
