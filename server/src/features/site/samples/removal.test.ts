import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
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
  test('takes all of it, and it can be made again', async () => {
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

  test('takes what was renamed, with a run that is under way', async () => {
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

  test('is announced: what goes, and what stays because others use it', async () => {
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

  test('leaves a variable set that a person has made in the project', async () => {
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
