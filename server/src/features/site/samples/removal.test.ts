import { describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser, createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'
import { addMember } from '../../../testing/teams.ts'
import {
  BARE,
  createOwner,
  idOf,
  listAll,
  MADE,
  makeSample,
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
