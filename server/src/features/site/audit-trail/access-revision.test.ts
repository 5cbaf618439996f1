import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { data, type MakeChange, many, one, requestOf, SECRET, AuditFixtures } from './testing/audit-fixtures.ts'
import { CHANGES } from './testing/changes.ts'

/** Further changes by routes of the table. */
const MORE: Record<string, MakeChange> = {
  'PATCH /workspaces/:id': async (w) => ({
    ids: [await w.workspace()],
    body: data('workspaces', {}, { project: one('projects', await w.project()) }),
  }),
  'POST /admin/users': async (w) => {
    const username = w.name('invited')
    const email = `${username}@example.com`
    const teams = many('teams', await w.team())
    await w.ofOrganization('organization-memberships', data('organization-memberships', { email }, { teams }))
    return { body: data('users', { username, email, password: SECRET }) }
  },
}
const changes = [CHANGES, MORE].flatMap((table) => Object.entries(table).map(([route, make]) => ({ route, make })))

let app: TestApp
let fixtures: AuditFixtures
let teamId: string
beforeAll(async () => {
  app = await createTestApp()
  fixtures = await AuditFixtures.create(app)
  const { id: organizationId } = fixtures.organization
  teamId = await createTeamWithAccess(app, { organizationId, members: [await createUser(app)] })
})

test.each(changes)('$route raises access_revision if it changes the access of teams', async ({ route, make }) => {
  const request = requestOf(route, await make(fixtures), fixtures)
  await grantEveryWorkspace()
  const before = await reaches()

  const done = await app.request(request)

  expect(done.status < 400 || done.text).toBe(true)
  const after = await reaches()
  const stale = after.filter(({ id, reach, revision }) => {
    const earlier = before.find((organization) => organization.id === id)
    return earlier && earlier.reach !== reach && earlier.revision === revision
  })
  expect(stale).toEqual([])
})

async function grantEveryWorkspace() {
  await sql`insert into team_workspaces (id, team_id, workspace_id, access, created_at)
    select 'tws-of-' || id, ${teamId}, id, 'read', now() from workspaces where organization_id = ${fixtures.organization.id}
        on conflict do nothing`.execute(app.db)
}

/** Team members, and grants on workspaces and projects, by organization. */
async function reaches() {
  const { rows } = await sql<{ id: string; revision: number; reach: string }>`
    select o.id, o.access_revision as revision, md5(concat(
        (select string_agg(concat(m.team_id, m.user_id), ' ' order by m.team_id, m.user_id)
           from team_members m join teams t on t.id = m.team_id where t.organization_id = o.id),
        (select string_agg(concat(g.team_id, g.project_id), ' ' order by g.team_id, g.project_id)
           from team_projects g join teams t on t.id = g.team_id where t.organization_id = o.id),
        (select string_agg(concat(g.team_id, g.workspace_id, w.project_id), ' ' order by g.team_id, g.workspace_id)
           from team_workspaces g join workspaces w on w.id = g.workspace_id where w.organization_id = o.id))) as reach
      from organizations o`.execute(app.db)
  return rows
}
