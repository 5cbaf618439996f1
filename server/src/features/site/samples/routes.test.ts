import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createProject, createUser, createWorkspace } from '../../../testing/factories.ts'
import {
  BARE,
  createOwner,
  idOf,
  listAll,
  MADE,
  makeSample,
  type Owner,
  read,
  readSample,
  removeSample,
  send,
} from './testing/samples.ts'

const app = await createTestApp()

describe('a sample', () => {
  test('has two workspaces in a project, with variables, a variable set, a run task and a run trigger', async () => {
    const owner = await createOwner(app)

    const response = await makeSample(owner)

    expect(response.status).toBe(201)
    const sample = response.json().data
    expect(sample.attributes).toMatchObject({ 'is-complete': true, keeps: [] })
    expect(await listAll(owner)).toEqual(MADE)
    const network = await read(owner, `/workspaces/${idOf(sample, 'network')}`)
    expect(network.relationships.project.data.id).toBe(idOf(sample, 'project'))
    expect(network.attributes['tag-names']).toEqual(['sample'])
    const variables = await read(owner, `/workspaces/${network.id}/vars`)
    expect(
      variables.map(({ attributes: { category, hcl, sensitive } }: any) => ({ category, hcl, sensitive })),
    ).toEqual(
      expect.arrayContaining([
        { category: 'terraform', hcl: false, sensitive: false },
        { category: 'terraform', hcl: true, sensitive: false },
        { category: 'terraform', hcl: false, sensitive: true },
        { category: 'env', hcl: false, sensitive: false },
      ]),
    )
    const inherited = await read(owner, `/workspaces/${idOf(sample, 'app')}/all-vars`)
    expect(inherited.map((variable: any) => variable.attributes.key)).toContain('owner')
    const [trigger] = await read(
      owner,
      `/workspaces/${idOf(sample, 'app')}/run-triggers?filter[run-trigger][type]=inbound`,
    )
    expect(trigger.attributes['sourceable-name']).toBe('sample-network')
    const [attached] = await read(owner, `/workspaces/${network.id}/tasks`)
    expect(attached.attributes).toMatchObject({ 'enforcement-level': 'advisory', stages: ['post_plan'] })
  })

  test('gets its configurations in the background, and a run of the network only', async () => {
    const owner = await createOwner(app)
    const made = (await makeSample(owner)).json().data

    await app.runJobs()

    const sample = await readSample(owner)
    const run = await read(owner, `/runs/${idOf(sample, 'run')}`)
    expect(idOf(made, 'run')).toBeUndefined()
    expect(run.attributes).toMatchObject({ status: 'plan_queued', 'auto-apply': false })
    expect(run.relationships['created-by'].data.id).toBe(owner.user.id)
    const appWorkspace = await read(owner, `/workspaces/${idOf(sample, 'app')}?include=current_configuration_version`)
    expect(appWorkspace.relationships['current-configuration-version'].data).not.toBeNull()
    expect(await read(owner, `/workspaces/${appWorkspace.id}/runs`)).toEqual([])
  })

  test('is created once: the second request returns the existing one', async () => {
    const owner = await createOwner(app)
    const first = (await makeSample(owner)).json().data
    await app.runJobs()

    const second = await makeSample(owner)
    await app.runJobs()

    expect(second.status).toBe(200)
    expect(second.json().data.id).toBe(first.id)
    expect(await listAll(owner)).toEqual(MADE)
    expect(await read(owner, `/workspaces/${idOf(first, 'network')}/runs`)).toHaveLength(1)
  })

  test('is created once by concurrent requests', async () => {
    const owner = await createOwner(app)

    const responses = await Promise.all([makeSample(owner), makeSample(owner)])

    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 201]))
    expect(await listAll(owner)).toEqual(MADE)
  })

  test('gets back its deleted parts', async () => {
    const owner = await createOwner(app)
    const first = (await makeSample(owner)).json().data
    await send(owner, ['DELETE', `/workspaces/${idOf(first, 'network')}`])
    const incomplete = await readSample(owner)

    const second = (await makeSample(owner)).json().data

    expect(incomplete.attributes['is-complete']).toBe(false)
    expect(second.attributes['is-complete']).toBe(true)
    expect(idOf(second, 'network')).not.toBe(idOf(first, 'network'))
    expect(idOf(second, 'app')).toBe(idOf(first, 'app'))
    expect(await listAll(owner)).toEqual(MADE)
  })

  test('uses other names if its own are taken', async () => {
    const owner = await createOwner(app)
    await createProject(app, { organization: owner.organization, actor: owner.user.actor, name: 'sample' })
    await createWorkspace(app, { organization: owner.organization, actor: owner.user.actor, name: 'Sample-Network' })

    const sample = (await makeSample(owner)).json().data

    expect((await listAll(owner)).projects).toEqual(['Default Project', 'Sample 2', 'sample'])
    expect(sample.attributes.removes.map(({ name }: any) => name)).toContain('sample-network-2')
    const [network] = await read(owner, `/workspaces/${idOf(sample, 'app')}/vars`)
    expect(network.attributes.value).toContain('"sample-network-2"')
  })

  test('is rejected as a whole if it exceeds the plan of the organization', async () => {
    const owner = await createOwner(app)
    await app.db.updateTable('organizations').set({ plan: 'free' }).where('id', '=', owner.organizationId).execute()
    expect((await makeSample(owner)).status).toBe(201)
    await removeSample(owner)
    const task = { name: 'own', url: 'https://receiver.example/', category: 'task' }
    await app.db
      .insertInto('tasks')
      .values({
        id: `task-${owner.organizationId}`,
        organization_id: owner.organizationId,
        name: task.name,
        url: task.url,
        created_at: app.now(),
        updated_at: app.now(),
      })
      .execute()

    const response = await makeSample(owner)

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toBe('the free plan allows 1 run task, and the organization already has 1')
    expect(await listAll(owner)).toEqual({ ...BARE, tasks: ['own'] })
  })

  test('requires permissions; the error lists all missing ones', async () => {
    const owner = await createOwner(app)
    const member = await createMember(owner)
    const stranger = await createUser(app)

    const response = await makeSample({ ...owner, user: member })

    expect(response.status).toBe(403)
    expect(response.json().errors[0].detail).toBe(
      `creating and removing a sample needs the permissions projects:create, workspaces:create, variable-sets:manage, run-tasks:manage in the organization ${owner.organization}`,
    )
    expect((await makeSample({ ...owner, user: stranger })).status).toBe(404)
    await makeSample(owner)
    expect((await removeSample({ ...owner, user: member })).status).toBe(403)
    expect(await listAll(owner)).toEqual(MADE)
  })
  test('is shown to members with the parts that they may see', async () => {
    const owner = await createOwner(app)
    await makeSample(owner)

    const sample = await readSample({ ...owner, user: await createMember(owner) })

    expect(sample.attributes.removes.map(({ type }: any) => type)).toEqual(['tasks'])
    expect(idOf(sample, 'network')).toBeUndefined()
  })
})

/** A member of the organization without access to anything in it. */
async function createMember(owner: Owner) {
  const member = await createUser(app)
  await app.db
    .insertInto('organization_memberships')
    .values({
      id: `ou-${member.id}`,
      organization_id: owner.organizationId,
      user_id: member.id,
      email: member.email,
      status: 'active',
      created_at: app.now(),
    })
    .execute()
  return member
}
