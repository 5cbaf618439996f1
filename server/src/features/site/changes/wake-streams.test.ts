import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { announce, workspaceNotice } from '../../../changes/announce.ts'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { allSignals } from '../../../testing/signals.ts'
import { addMember } from '../../../testing/teams.ts'
import { watch } from './testing/watch.ts'

const lines: string[] = []
const log = pino({ level: 'error' }, { write: (line: string) => void lines.push(line) })
const app = await createTestApp({}, { log })
const url = await app.listen()

test('a delivery failure is logged once, and the changes are sent afterwards', async () => {
  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: organization.name, actor: owner.actor })
  const member = await createUser(app)
  await addMember(app, organization.id, member)
  const reads = { organizationId: organization.id, members: [member], workspaces: { [workspace.id]: 'read' as const } }
  await createTeamWithAccess(app, reads)
  await allSignals(app)
  const stream = await watch(url, organization.name, { token: member.token })
  await expect.poll(() => stream.events.map(({ event }) => event)).toEqual(['ready'])
  await refuseReads()
  const startedAt = performance.now()

  announce(app, workspaceNotice({ id: workspace.id, organization_id: organization.id }))
  await expect.poll(countAttempts, { timeout: 15_000 }).toBeGreaterThan(3)
  const tookMs = performance.now() - startedAt
  await allowReads()

  await expect.poll(() => stream.changes.map(({ id }) => id), { timeout: 5000 }).toContain(workspace.id)
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['sending changes'])
  expect(tookMs).toBeGreaterThan(2000)
})

/** Makes all reads of workspace grants fail. A failure does not reset the sequence that counts them. */
async function refuseReads() {
  await sql`create sequence attempts`.execute(app.db)
  await sql`create function refuse() returns boolean language plpgsql as $$ begin
    perform nextval('attempts');
    raise exception 'not now';
  end $$`.execute(app.db)
  await sql`alter table team_workspaces rename to away`.execute(app.db)
  await sql`create view team_workspaces as select away.* from away where refuse()`.execute(app.db)
}

async function allowReads() {
  await sql`drop view team_workspaces`.execute(app.db)
  await sql`alter table away rename to team_workspaces`.execute(app.db)
}

async function countAttempts() {
  const { rows } = await sql<{ count: number }>`select last_value::int as count from attempts`.execute(app.db)
  return rows[0]?.count
}
