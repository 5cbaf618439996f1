import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { allowIdle } from '../../../testing/database.ts'
import { createUser, createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import { addWorkspace } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'
import { addMember } from '../../../testing/teams.ts'
import { applyRun, connect, listTriggered } from '../../runs/run-triggers/testing/triggers.ts'
import {
  BARE,
  createOwner,
  idOf,
  listAll,
  MADE,
  makeSample,
  read,
  readSample,
  removeSample,
  send,
} from './testing/samples.ts'

const app = await createTestApp()

describe('the removal of a sample', () => {
  test('deletes all parts, and it can be created again', async () => {
    const owner = await createOwner(app)
    await makeSample(owner)
    await app.runJobs()

    const removed = await removeSample(owner)

    expect(removed.status).toBe(204)
    expect(await listAll(owner)).toEqual(BARE)
    expect((await removeSample(owner)).status).toBe(404)
    expect((await makeSample(owner)).status).toBe(201)
    expect(await listAll(owner)).toEqual(MADE)
  })

  test('deletes renamed parts, and workspaces with an active run', async () => {
    const owner = await createOwner(app)
    await makeSample(owner)
    await app.runJobs()
    const agent = await createFakeAgent(app)
    const sample = await readSample(owner)
    let job = await agent.take()
    while (job.runId !== idOf(sample, 'run')) job = await agent.take()
    const renamed = { data: { type: 'workspaces', attributes: { name: 'mine' } } }
    await send(owner, ['PATCH', `/workspaces/${idOf(sample, 'network')}`], renamed)

    const removed = await removeSample(owner)

    expect(removed.status).toBe(204)
    expect(await listAll(owner)).toEqual(BARE)
    expect((await job.heartbeat()).status).toBe(401)
  })

  test('deletes workspaces with resources, even for a caller who may not force-delete workspaces', async () => {
    const owner = await createOwner(app)
    const maker = await createUser(app)
    await addMember(app, owner.organizationId, maker)
    const organization = { manage_projects: true, manage_workspaces: true, manage_run_tasks: true }
    await createTeamWithAccess(app, { organizationId: owner.organizationId, members: [maker], organization })
    const made = await makeSample({ ...owner, user: maker })
    const network = stateClient(app, { id: idOf(made.json().data, 'network'), name: 'sample-network' }, maker.token)
    await network.lock()
    await network.create(rawState({ resources: ['a', 'b'] }))
    await network.unlock()
    const single = await network.request('DELETE', `/workspaces/${network.id}`)

    const removed = await removeSample({ ...owner, user: maker })

    expect([made.status, single.status, removed.status]).toEqual([201, 403, 204])
    expect(await listAll(owner)).toEqual(BARE)
  })

  test('starts the runs that were triggered in other workspaces, before it locks anything', async () => {
    const owner = await createOwner(app)
    await makeSample(owner)
    await app.runJobs()
    const sample = await readSample(owner)
    const agent = await createFakeAgent(app)
    let job = await agent.take()
    while (job.runId !== idOf(sample, 'run')) job = await agent.take()
    await job.finish({ status: 'errored', exitCode: 1 })
    const network = { user: owner.user, workspaceId: idOf(sample, 'network') }
    const [attached] = await read(owner, `/workspaces/${network.workspaceId}/tasks`)
    await send(owner, ['DELETE', `/workspaces/${network.workspaceId}/tasks/${attached.id}`])
    const other = await addWorkspace(app, { user: owner.user, organization: owner.organization })
    await connect(app, network, other)
    await applyRun(app, agent, network)

    const removal = await app.db.transaction().execute(async (holder) => {
      await allowIdle(holder)
      const lock = async ({ workspaceId }: { workspaceId: string }) =>
        sql`select from workspaces where id = ${workspaceId} for update nowait`.execute(holder)
      await lock(other)
      const sent = removeSample(owner)
      await expect.poll(async () => countLockWaits(app.db)).toBeGreaterThan(0)
      for (const part of ['app', 'network']) await lock({ workspaceId: idOf(sample, part) })
      return { sent }
    })

    expect((await removal.sent).status).toBe(204)
    expect(await listTriggered(app, other)).toHaveLength(1)
  })

  test('is previewed: the deleted parts, and those kept because others use them', async () => {
    const owner = await createOwner(app)
    const sample = (await makeSample(owner)).json().data
    const { id } = await createWorkspace(app, {
      organization: owner.organization,
      actor: owner.user.actor,
      name: 'own',
      projectId: idOf(sample, 'project'),
    })
    await send(owner, ['POST', `/workspaces/${id}/tasks`], {
      data: {
        type: 'workspace-tasks',
        attributes: { 'enforcement-level': 'advisory' },
        relationships: { task: { data: { type: 'tasks', id: idOf(sample, 'task') } } },
      },
    })

    const { attributes } = await readSample(owner)

    expect(attributes.removes.map(({ type, name }: any) => `${type} ${name}`)).toEqual([
      'workspaces sample-network',
      'workspaces sample-app',
      'run-triggers sample-network → sample-app',
      'tasks sample-review',
      'workspace-tasks sample-review on own',
      'varsets sample-settings',
    ])
    expect(attributes.keeps).toEqual([
      { type: 'projects', id: idOf(sample, 'project'), name: 'Sample', reason: 'it has 1 other workspace' },
    ])
    expect((await removeSample(owner)).status).toBe(204)
    expect(await listAll(owner)).toEqual({
      projects: ['Default Project', 'Sample'],
      workspaces: ['own'],
      tasks: [],
      sets: [],
    })
  })

  test('keeps a variable set that a user has created in the project', async () => {
    const owner = await createOwner(app)
    const sample = (await makeSample(owner)).json().data
    const parent = { data: { type: 'projects', id: idOf(sample, 'project') } }
    await send(owner, ['POST', `/organizations/${owner.organization}/varsets`], {
      data: { type: 'varsets', attributes: { name: 'own' }, relationships: { parent } },
    })

    await removeSample(owner)

    expect(await listAll(owner)).toEqual({ ...BARE, projects: ['Default Project', 'Sample'], sets: ['own'] })
  })
})
