import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { migrate } from '../../../db/migrate.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createRandom } from '../../../testing/random.ts'

const HOUR = 3_600_000

let url = ''
const app = await createTestApp({}, { reach: async (address) => (url = address) })
const admin = await createUser(app, { isSiteAdmin: true })
const organization = await createOrganization(app, admin)
const random = createRandom(20_264)

/** Events of twenty days by chance, on the hour, and so some at midnight. */
async function addEvents() {
  const now = Math.floor(app.clock.now().getTime() / HOUR) * HOUR
  const rows = Array.from({ length: 300 }, (_, index) => ({
    id: `ae-${index}`,
    organization_id: random.pick([organization.id, 'org-other', null]),
    actor_type: 'system',
    actor_name: 'test',
    action: 'update',
    resource_type: 'team',
    resource_id: 'team-x',
    created_at: new Date(now - random.below(20 * 24) * HOUR),
  }))
  await app.db.insertInto('audit_events').values(rows).execute()
}

/** Makes the database what it was before the migration. */
async function forgetDays() {
  await sql`drop function count_audit_days`.execute(app.db)
  await sql`drop table audit_days`.execute(app.db)
  await sql`delete from schema_migrations where name = '0119-audit-days'`.execute(app.db)
}

async function totalOf(path: string, since: string) {
  const answer = await app.request({ url: `/api/v2/${path}/audit-trail?page[size]=1${since}`, token: admin.token })
  return answer.json().pagination.total_count
}

test('events from before the migration are counted, each once', async () => {
  await addEvents()
  const own = await app.db.selectFrom('audit_events').select(['organization_id', 'created_at']).execute()
  await forgetDays()

  const { applied } = await migrate(url)

  expect(applied).toEqual(['0119-audit-days'])
  const counted = await app.db.selectFrom('audit_days').select('starts_at').distinct().execute()
  expect(counted.length).toBeGreaterThan(15)
  for (const age of [undefined, 0, 24, 47, 48, 200, 2000]) {
    const moment = age === undefined ? undefined : new Date(app.clock.now().getTime() - age * HOUR)
    const since = moment === undefined ? '' : `&since=${moment.toISOString()}`
    const after = own.filter(({ created_at }) => moment === undefined || created_at > moment)
    const ofOne = after.filter(({ organization_id }) => organization_id === organization.id)
    expect(await totalOf('admin', since)).toBe(after.length)
    expect(await totalOf(`organizations/${organization.name}`, since)).toBe(ofOne.length)
  }
})

test.each(['9999-12-31T23:59:59Z', '0001-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00'])(
  'the total since %s is counted too',
  async (since) => {
    const expected = since.startsWith('9') ? 0 : await totalOf('admin', '')

    expect(await totalOf('admin', `&since=${since}`)).toBe(expected)
  },
)
