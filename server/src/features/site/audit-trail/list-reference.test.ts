import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createRandom } from '../../../testing/random.ts'
import { countAuditDays, sweepAuditTrail } from './jobs.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const RETENTION_DAYS = 9

const app = await createTestApp({ GROUNDSTATE_AUDIT_RETENTION_DAYS: `${RETENTION_DAYS}` })
const random = createRandom(20_262)
const admin = await createUser(app, { isSiteAdmin: true })
const organizations = [await createOrganization(app, admin), await createOrganization(app, admin)] as const
await app.db.deleteFrom('audit_events').execute()
// Half past one: the previous day has been over for more than an hour.
const start = Math.floor(app.clock.now().getTime() / DAY) * DAY + DAY + 1.5 * HOUR
app.clock.advance(start - app.clock.now().getTime())

type Event = { id: string; organizationId: string | null; createdAt: Date }
const events: Event[] = []

/** Random events of past days, some at the same time and some at midnight; a few days have none. */
async function addEvents(days: number, count: number) {
  const now = Math.floor(app.clock.now().getTime() / HOUR) * HOUR
  const added = Array.from({ length: count }, (): Event => {
    const age = random.below(days * 24)
    const isQuiet = Math.floor((now - age * HOUR) / DAY) % 5 === 0
    return {
      id: `ae-${events.length}-${random.below(1_000_000)}`,
      organizationId: random.pickSkewed([organizations[0].id, organizations[1].id, null]),
      createdAt: new Date(now - (isQuiet ? 1 : age) * HOUR),
    }
  })
  const rows = added.map(({ id, organizationId, createdAt }) => ({
    id,
    organization_id: organizationId,
    actor_type: 'system',
    actor_name: 'test',
    action: 'update',
    resource_type: 'team',
    resource_id: 'team-x',
    created_at: createdAt,
  }))
  await app.db.insertInto('audit_events').values(rows).execute()
  events.push(...added)
}

const PLACES = [
  {
    path: `organizations/${organizations[0].name}`,
    isIn: (event: Event) => event.organizationId === organizations[0].id,
  },
  {
    path: `organizations/${organizations[1].name}`,
    isIn: (event: Event) => event.organizationId === organizations[1].id,
  },
  { path: 'admin', isIn: () => true },
]

/** Compares all pages of each trail, since several times, with the events. */
async function checkTrails() {
  const now = app.clock.now().getTime()
  const midnight = Math.floor(now / DAY) * DAY
  const moments = [
    undefined,
    now - 30 * DAY,
    midnight,
    midnight - 1,
    midnight - 3 * DAY,
    midnight - 3 * DAY + 5 * HOUR,
    now,
  ]
  const kept = events.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1))
  for (const moment of moments) {
    for (const { path, isIn } of PLACES) {
      const found = await listed(path, moment)

      const ids = kept.filter((event) => isIn(event) && event.createdAt.getTime() > (moment ?? 0)).map(({ id }) => id)
      expect({ path, moment, ...found }).toEqual({ path, moment, ids, totals: [ids.length] })
    }
  }
}

async function listed(path: string, moment: number | undefined) {
  const ids: string[] = []
  const totals = new Set<number>()
  const since = moment === undefined ? '' : `&since=${new Date(moment).toISOString()}`
  for (let number = 1; ; number += 1) {
    const url = `/api/v2/${path}/audit-trail?page[size]=70&page[number]=${number}${since}`
    const { data, pagination } = (await app.request({ url, token: admin.token })).json()
    ids.push(...data.map(({ id }: { id: string }) => id))
    totals.add(pagination.total_count)
    if (data.length < 70) return { ids, totals: [...totals] }
  }
}

const countedDays = async () => (await app.db.selectFrom('audit_days').select('starts_at').distinct().execute()).length

test('trails show and count the events since a time, whichever days are counted already', async () => {
  await checkTrails()
  await addEvents(12, 200)
  await checkTrails()
  expect(await countedDays()).toBe(0)

  await countAuditDays(app.as())
  expect(await countedDays()).toBeGreaterThan(5)
  await checkTrails()

  await addEvents(1 / 24, 20)
  await countAuditDays(app.as())
  await checkTrails()

  app.clock.advance(2 * DAY)
  await addEvents(1, 50)
  await checkTrails()
  await countAuditDays(app.as())
  await checkTrails()
})

test('expired events are no longer counted', async () => {
  await sweepAuditTrail(app.as(), new AbortController().signal)

  const before = app.clock.now().getTime() - RETENTION_DAYS * DAY
  const kept = events.filter(({ createdAt }) => createdAt.getTime() >= before)
  expect(kept.length).toBeLessThan(events.length)
  events.splice(0, events.length, ...kept)
  await checkTrails()
  const empty = await app.db.selectFrom('audit_days').selectAll().where('events', '=', 0).execute()
  expect(empty.filter(({ starts_at }) => starts_at.getTime() < before)).toEqual([])
})

test('a wrong count is deleted with the events', async () => {
  const before = new Date(app.clock.now().getTime() - RETENTION_DAYS * DAY)
  // Events of the first day are already deleted, and the second was counted too early.
  for (const [days, events] of [
    [1, 7],
    [2, 0],
  ] as const) {
    const starts_at = new Date(Math.floor(before.getTime() / DAY - days) * DAY)
    await app.db.insertInto('audit_days').values({ organization_id: '', starts_at, events }).execute()
    await addEvents(1 / 24, 1)
  }
  const created_at = new Date(Math.floor(before.getTime() / DAY - 2) * DAY)
  await app.db
    .updateTable('audit_events')
    .set({ created_at })
    .where('id', '=', events.at(-1)?.id ?? '')
    .execute()
  events.pop()

  await sweepAuditTrail(app.as(), new AbortController().signal)

  const left = await app.db.selectFrom('audit_days').select('starts_at').execute()
  expect(left.filter(({ starts_at }) => starts_at.getTime() <= before.getTime() - DAY)).toEqual([])
  await checkTrails()
})

test.each(['9999-12-31T23:59:59Z', '0001-01-01T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-14:00'])(
  'the total since %s is counted too',
  async (since) => {
    const url = `/api/v2/admin/audit-trail?page[size]=1&since=${since}`

    const { pagination } = (await app.request({ url, token: admin.token })).json()

    expect(pagination.total_count).toBe(since.startsWith('9') ? 0 : events.length)
  },
)
