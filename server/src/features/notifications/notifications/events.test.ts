import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createProject, createWorkspace } from '../../../testing/factories.ts'
import { actOnRun, addWorkspace, createRun, uploadConfiguration } from '../../../testing/runs.ts'
import { deleteWorkspace } from '../../runs/workspace-deletion/service.ts'
import { configure, createNotifiedSetting, payloads, startSending, triggersOf } from './testing/notified.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
startSending(app)
const COUNTS = { additions: 2, changes: 4, destructions: 0, imports: 0 }

test('a run is notified from its creation to its apply, in order', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver, agent, user } = setting
  const id = await configure(app, setting)

  const run = await createRun(app, setting, { message: 'grow' })
  await (await agent.take()).finish({ counts: COUNTS })
  await receiver.received(3)
  await actOnRun(app, { user }, { run, action: 'apply' })
  await (await agent.take()).finish({ counts: COUNTS })
  await receiver.received(5)

  expect(triggersOf(receiver)).toEqual([
    'run:created pending',
    'run:planning planning',
    'run:needs_attention planned',
    'run:applying applying',
    'run:completed applied',
  ])
  const [created, planning, attention] = payloads(receiver)
  expect(created).toEqual({
    payload_version: 1,
    notification_configuration_id: id,
    run_url: `http://groundstate.test/app/${setting.organization}/workspaces/${setting.workspaceName}/runs/${run}`,
    run_id: run,
    run_message: 'grow',
    run_created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    run_created_by: user.username,
    workspace_id: setting.workspaceId,
    workspace_name: setting.workspaceName,
    organization_name: setting.organization,
    notifications: [
      {
        message: 'Run Created',
        trigger: 'run:created',
        run_status: 'pending',
        run_updated_at: expect.any(String),
        run_updated_by: user.username,
      },
    ],
  })
  expect(planning?.notifications[0]).toMatchObject({ message: 'Run Planning', run_updated_by: null })
  expect(attention?.notifications[0]).toMatchObject({ message: 'Run Planned' })
})

type Ending = { hasChanges?: boolean; status?: 'errored'; action?: string }

test.each<[string, Ending, string, string]>([
  ['a plan without changes', { hasChanges: false }, 'run:completed planned_and_finished', 'Run Planned and Finished'],
  ['a failed plan', { status: 'errored' }, 'run:errored errored', 'Run Errored'],
  ['a discarded run', { action: 'discard' }, 'run:errored discarded', 'Run Discarded'],
])('%s is notified', async (_, { action, ...ending }, expected, message) => {
  const setting = await createNotifiedSetting(app)
  const { receiver, agent } = setting
  await configure(app, setting, { triggers: ['run:completed', 'run:errored'] })

  const run = await createRun(app, setting)
  await (await agent.take()).finish({ hasChanges: true, counts: COUNTS, ...ending })
  if (action !== undefined) await actOnRun(app, setting, { run, action })
  await receiver.received(1)

  expect(triggersOf(receiver)).toEqual([expected])
  expect(payloads(receiver)[0]?.notifications[0]?.message).toBe(message)
})

test('a canceled run names who canceled it', async () => {
  const setting = await createNotifiedSetting(app)
  await configure(app, setting, { triggers: ['run:errored'] })
  const run = await createRun(app, setting)

  await actOnRun(app, setting, { run, action: 'cancel' })
  await setting.receiver.received(1)

  expect(payloads(setting.receiver)[0]?.notifications[0]).toMatchObject({
    trigger: 'run:errored',
    run_status: 'canceled',
    run_updated_by: setting.user.username,
  })
})

test('an automatic apply needs no attention', async () => {
  const setting = await createNotifiedSetting(app, { 'auto-apply': true })
  const { receiver, agent } = setting
  await configure(app, setting, { triggers: ['run:needs_attention', 'run:applying'] })

  await createRun(app, setting)
  await (await agent.take()).finish({ counts: COUNTS })
  await agent.take()
  await receiver.received(1)

  expect(triggersOf(receiver)).toEqual(['run:applying applying'])
})

test('speculative runs, disabled configurations and other triggers cause nothing', async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver, agent } = setting
  await configure(app, setting, { triggers: ['run:errored'] })
  await configure(app, setting, { enabled: false, url: receiver.url })

  await createRun(app, setting, { 'plan-only': true })
  await (await agent.take()).finish({ status: 'errored' })
  const run = await createRun(app, setting)
  await (await agent.take()).finish({ status: 'errored' })
  await receiver.received(1)

  expect(triggersOf(receiver)).toEqual(['run:errored errored'])
  expect(payloads(receiver)[0]?.run_id).toBe(run)
  const { count } = await app.db
    .selectFrom('notifications')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', setting.workspaceId)
    .executeTakeFirstOrThrow()
  expect(count).toBe(1)
})

test("a project's configuration is notified of runs in its workspaces only, and of their deletion", async () => {
  const setting = await createNotifiedSetting(app)
  const { receiver, user, organization } = setting
  const project = await createProject(app, { organization, actor: user.actor })
  const inside = await createWorkspace(app, { organization, actor: user.actor, projectId: project.id })
  await uploadConfiguration(app, { user, workspaceId: inside.id })
  const triggers = ['run:created', 'workspace:deleted']
  await configure(app, setting, { at: `/projects/${project.id}`, triggers })
  await configure(app, { ...setting, workspaceId: inside.id }, { name: 'own', triggers: ['workspace:deleted'] })

  await createRun(app, setting)
  const run = await createRun(app, { user, workspaceId: inside.id })
  await receiver.received(1)
  await deleteWorkspace(app.as(user.actor), { id: inside.id })
  await receiver.received(3)

  expect(payloads(receiver)[0]?.run_id).toBe(run)
  const deletions = receiver.requests.slice(1).map(({ body }) => JSON.parse(body) as object)
  for (const deletion of deletions)
    expect(deletion).toMatchObject({
      payload_version: 2,
      trigger_scope: 'workspace',
      trigger: 'workspace:deleted',
      message: 'Workspace Deleted',
      details: { workspace_id: inside.id, workspace_name: inside.name, organization_name: organization },
    })
})

test('two workspaces with their own configurations do not share notifications', async () => {
  const setting = await createNotifiedSetting(app)
  const other = await addWorkspace(app, setting)
  await configure(app, setting, { triggers: ['run:created'] })

  await createRun(app, other)
  const run = await createRun(app, setting)
  await setting.receiver.received(1)

  expect(payloads(setting.receiver).map(({ run_id }) => run_id)).toEqual([run])
})
