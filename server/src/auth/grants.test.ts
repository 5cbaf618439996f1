import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { createOrganization, createUser } from '../testing/factories.ts'
import { ORGANIZATION_ACCESS, organizationAccess } from './grants.ts'

const app = await createTestApp()

test.each(ORGANIZATION_ACCESS)('a team with %s has that access and no other', async (name) => {
  const organization = await createOrganization(app, await createUser(app))
  // The right to projects includes that to the workspaces in them.
  const implied = { manage_projects: 'manage_workspaces', read_projects: 'read_workspaces' } as const
  const names = name in implied ? [name, implied[name as keyof typeof implied]] : [name]
  const columns = Object.fromEntries(ORGANIZATION_ACCESS.map((each) => [each, names.includes(each)]))

  const team = await app.db
    .updateTable('teams')
    .set(columns)
    .where('organization_id', '=', organization.id)
    .returning('organization_access')
    .executeTakeFirstOrThrow()

  expect([...organizationAccess(team.organization_access)].toSorted()).toEqual(names.toSorted())
})
