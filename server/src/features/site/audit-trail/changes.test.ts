import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import { createTestApp, type TestApp, type TestResponse } from '../../../testing/app.ts'
import { createUser, type TestUser } from '../../../testing/factories.ts'
import { type AuditedChange, type ChangeRequest, requestOf, SECRET, World } from './testing/audit-world.ts'
import { ACCOUNTS } from './testing/audited-accounts.ts'
import { SETTING_CHANGES } from './testing/audited-settings.ts'
import { WORK } from './testing/audited-work.ts'

/** Every route that changes something: its change, or why it leaves no event. */
const TABLE: Record<string, AuditedChange | string> = { ...SETTING_CHANGES, ...WORK, ...ACCOUNTS }
const CHANGES = Object.entries(TABLE).flatMap(([route, entry]) =>
  typeof entry === 'string' ? [] : [{ route, ...entry }],
)

let app: TestApp
let world: World
let stranger: TestUser
beforeAll(async () => {
  app = await createTestApp()
  world = await World.create(app)
  stranger = await createUser(app)
})

test('every route that changes something stands in the table, and no other', () => {
  const routes = app.server.routes.filter(({ method }) => method !== 'GET')

  const known = routes.map(({ method, url }) => `${method} ${url.replace('/api/v2', '')}`)

  expect(known.toSorted()).toEqual(Object.keys(TABLE).toSorted())
})

test.each(CHANGES)('$route leaves $events, or does not happen', async ({ route, events, make }) => {
  const input = await make(world)
  const before = await snapshot()

  const refused = await app.request(requestOf(route, refusedFrom(input), world))
  await sql`alter table audit_events add constraint broken check (false) not valid`.execute(app.db)
  const unkept = await app.request(requestOf(route, input, world))
  await sql`alter table audit_events drop constraint broken`.execute(app.db)
  const after = await snapshot()
  const made = input.usesUp ? await make(world) : input
  const done = await app.request(requestOf(route, made, world))

  expect(refused.status).toBeGreaterThanOrEqual(400)
  expect(await eventsOf(refused)).toEqual([])
  expect(unkept.status).toBeGreaterThanOrEqual(500)
  expect(after).toEqual(before)
  expect(done.status < 400 || done.text).toBe(true)
  const kept = await eventsOf(done)
  expect(kept.map((event) => `${event.resource_type} ${event.action}`).join(', ')).toBe(events)
  const { id, tokenId } = made.by ?? { id: world.admin.id, tokenId: world.admin.actor.tokenId }
  for (const event of kept) expect(event).toMatchObject({ actor_id: id, token_id: tokenId, address: '127.0.0.1' })
})

test('no secret stands in an event', async () => {
  const { rows } = await sql<{ event: string }>`
    select e::text as event from audit_events e
     where e::text like ${`%${SECRET}%`} or e::text like '%.gsv1.%' or e::text like ${`%${world.admin.token}%`}`.execute(
    app.db,
  )

  expect(rows).toEqual([])
})

/** The same of somebody else, who says nothing: a stranger, a browser without a session, a URL that is not signed. */
function refusedFrom({ ids, url, by }: ChangeRequest): ChangeRequest {
  return {
    ...(ids && { ids }),
    ...(url !== undefined && { url: `${url}x` }),
    token: by === undefined ? stranger.token : 'nobody',
  }
}

async function eventsOf({ headers }: TestResponse) {
  return app.db
    .selectFrom('audit_events')
    .selectAll()
    .where('request_id', '=', String(headers['x-request-id']))
    .orderBy('action')
    .orderBy('resource_type')
    .execute()
}

/**
 * What is meant to outlive a request that fails: counted attempts and the places of sign-ins, used codes, and when something was
 * last used. Signals come and go by themselves.
 */
const MARKS = ['last_used_at', 'last_step', 'last_ping_at']
const UNWATCHED = new Set(['sign_in_attempts', 'sign_in_places', 'audit_events', 'signals'])

/** A digest of every table. */
async function snapshot() {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`.execute(app.db)
  const digests = rows
    .filter(({ name }) => !UNWATCHED.has(name))
    .map(
      ({ name }) => sql`select ${sql.lit(name)} as name,
      (select md5(coalesce(string_agg((to_jsonb(t) - ${MARKS}::text[])::text, '' order by t::text), '')) from ${sql.table(name)} t) as digest`,
    )
  const result = await sql<{ name: string; digest: string }>`${sql.join(digests, sql` union all `)}`.execute(app.db)
  return Object.fromEntries(result.rows.map(({ name, digest }) => [name, digest]))
}
