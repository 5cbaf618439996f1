import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { addWorkspace, createRun } from '../../../testing/runs.ts'

const app = await createTestApp()

test('the teams that can unblock a run are listed with their members, if visible to the caller', async () => {
  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  const setting = await addWorkspace(app, { user: owner, organization: organization.name })
  const run = await createRun(app, setting)
  const [reader, writer, admin] = [await createUser(app), await createUser(app), await createUser(app)]
  const grant = async (user: typeof reader, access: 'read' | 'write' | 'admin') =>
    createTeamWithAccess(app, {
      members: [user],
      organizationId: organization.id,
      workspaces: { [setting.workspaceId]: access },
    })
  const [, write, administer] = [await grant(reader, 'read'), await grant(writer, 'write'), await grant(admin, 'admin')]
  const url = `/api/v2/runs/${run}/deciders?include=may_apply.users`
  const deciders = async (token: string) => (await app.request({ url, token })).json()

  const all = await deciders(owner.token)
  const some = await deciders(writer.token)

  const ids = (document: any, relation: string) => document.data.relationships[relation].data.map(({ id }: any) => id)
  const { id: owners } = await app.db
    .selectFrom('teams')
    .select('id')
    .where('organization_id', '=', organization.id)
    .where('is_owners', '=', true)
    .executeTakeFirstOrThrow()
  expect(new Set(ids(all, 'may-apply'))).toEqual(new Set([owners, write, administer]))
  expect(new Set(ids(all, 'may-override'))).toEqual(new Set([owners, administer]))
  expect(new Set(ids(all, 'may-force-unlock'))).toEqual(new Set([owners, administer]))
  expect(ids(some, 'may-apply')).toContain(write)
  expect(ids(some, 'may-apply')).not.toContain(administer)
  const people = all.included.filter(({ type }: any) => type === 'users').map(({ id }: any) => id)
  expect(new Set(people)).toEqual(new Set([owner.id, writer.id, admin.id]))
})
