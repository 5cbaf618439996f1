import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { migrate } from '../../../db/migrate.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createRandom } from '../../../testing/random.ts'
import { createManyWorkspaces } from './testing/many-workspaces.ts'

let url = ''
const app = await createTestApp({}, { reach: async (address) => (url = address) })
const { workspaces } = await createManyWorkspaces(app, createRandom(20_263))

/** Makes the database what it was before the migration. */
async function forgetKeys() {
  await sql`drop table workspace_keys`.execute(app.db)
  await sql`drop trigger workspaces_new_keys on workspaces`.execute(app.db)
  await sql`drop trigger workspaces_keys on workspaces`.execute(app.db)
  await sql`drop function keep_keys_of_new_workspace, keep_workspace_keys`.execute(app.db)
  await sql`delete from schema_migrations where name = '0118-workspace-keys'`.execute(app.db)
}

/** The status of a run that goes on is any of its group. */
async function listKeys() {
  const { rows } = await sql`select to_jsonb(k) - 'run_status' as columns, run_group(run_status),
      case when run_group(run_status) in ('finished', 'stopped', 'errored') then run_status end as ended
    from workspace_keys k order by id`.execute(app.db)
  return rows
}

test('workspaces from before the migration get the keys that they have by their triggers', async () => {
  const kept = await listKeys()
  await forgetKeys()

  const { applied } = await migrate(url)

  expect(applied).toEqual(['0118-workspace-keys'])
  expect(kept.length).toBeGreaterThan(workspaces.length)
  expect(await listKeys()).toEqual(kept)
})

test('a workspace that changes after the migration keeps its keys', async () => {
  const before = await listKeys()
  await sql`update workspaces set has_drift = not coalesce(has_drift, false), name = name || '-x'`.execute(app.db)
  await sql`update runs set status = 'applying' where status = 'planned'`.execute(app.db)

  const after = await listKeys()

  expect(after).not.toEqual(before)
  await forgetKeys()
  await migrate(url)
  expect(await listKeys()).toEqual(after)
})
