import { sql } from 'kysely'
import { beforeAll, expect, test } from 'vitest'
import type { AuditEventName } from '../../../http/route-access.ts'
import { type TestResponse, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createUser } from '../../../testing/factories.ts'
import { type ChangeRequest, SECRET, AuditFixtures, requestOf } from './testing/audit-fixtures.ts'
import { CHANGES, auditedChanges, writingRoutes } from './testing/changes.ts'

/** Number of events that a change records, if not one. */
const COUNTS: Record<string, Partial<Record<AuditEventName, number>>> = {
  // The run before the forced one is canceled or discarded.
  'POST /runs/:runId/actions/force-execute': { 'run discard': 0 },
  'PATCH /workspaces/:workspaceId/relationships/vars': { 'variable update': 2 },
  'POST /organizations/:organization/actions/make-sample': {
    'configuration_version create': 2,
    'variable create': 7,
    'workspace create': 2,
    'workspace_task create': 2,
  },
  'DELETE /organizations/:organization/sample': { 'workspace destroy': 2 },
  // Both create or update a policy.
  'POST /organizations/:id/relationships/data-retention-policy': { 'data_retention_policy update': 0 },
  'POST /workspaces/:id/relationships/data-retention-policy': { 'data_retention_policy update': 0 },
  'PATCH /organizations/:id/relationships/data-retention-policy': { 'data_retention_policy create': 0 },
  'PATCH /workspaces/:id/relationships/data-retention-policy': { 'data_retention_policy create': 0 },
}

const app = await createTestApp()
const changes = auditedChanges(app).map((change) => ({ ...change, recorded: recordedBy(change) }))

let fixtures: AuditFixtures
let stranger: TestUser
beforeAll(async () => {
  fixtures = await AuditFixtures.create(app)
  stranger = await createUser(app)
})

test('every route that records events has a change in the tables, and no other', () => {
  const recording = writingRoutes(app).flatMap(({ route, events }) => (events.length > 0 ? route : []))

  expect(recording.toSorted()).toEqual(Object.keys(CHANGES).toSorted())
})

test('every event that is declared is recorded by a change', () => {
  const declared = new Set(changes.flatMap(({ events }) => events))

  expect([...new Set(changes.flatMap(({ recorded }) => recorded))].toSorted()).toEqual([...declared].toSorted())
})

test.each(changes)('$route records $recorded, or fails as a whole', async ({ route, recorded, make }) => {
  const input = await make(fixtures)
  const before = await snapshot()

  const refused = await app.request(requestOf(route, refusedFrom(input), fixtures))
  await sql`alter table audit_events add constraint broken check (false) not valid`.execute(app.db)
  const unkept = await app.request(requestOf(route, input, fixtures))
  await sql`alter table audit_events drop constraint broken`.execute(app.db)
  const after = await snapshot()
  const made = input.usesUp ? await make(fixtures) : input
  const done = await app.request(requestOf(route, made, fixtures))

  expect(refused.status).toBeGreaterThanOrEqual(400)
  expect(await eventsOf(refused)).toEqual([])
  expect(unkept.status).toBeGreaterThanOrEqual(500)
  expect(after).toEqual(before)
  expect(done.status < 400 || done.text).toBe(true)
  const kept = await eventsOf(done)
  expect(kept.map((event) => `${event.resource_type} ${event.action}`).toSorted()).toEqual(recorded)
  const { id, tokenId } = made.by ?? { id: fixtures.admin.id, tokenId: fixtures.admin.actor.tokenId }
  for (const event of kept) expect(event).toMatchObject({ actor_id: id, token_id: tokenId, address: '127.0.0.1' })
})

test('no event contains a secret', async () => {
  const { rows } = await sql<{ event: string }>`
    select e::text as event from audit_events e
     where e::text like ${`%${SECRET}%`} or e::text like '%.gsv1.%' or e::text like ${`%${fixtures.admin.token}%`}`.execute(
    app.db,
  )

  expect(rows).toEqual([])
})

function recordedBy({ route, events }: { route: string; events: readonly AuditEventName[] }) {
  return events.flatMap((event) => Array<string>(COUNTS[route]?.[event] ?? 1).fill(event)).toSorted()
}

/** The request without credentials: an outsider, a browser without a session, an unsigned URL. */
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
    .execute()
}

/**
 * Columns that may change in a failed request: counted attempts, known addresses, used codes and times of last use. Signals are
 * independent of requests.
 */
const MARKS = ['last_used_at', 'last_step', 'last_ping_at']
const UNWATCHED = new Set(['sign_in_attempts', 'sign_in_places', 'audit_events', 'signals'])

/** A digest of each table. */
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
