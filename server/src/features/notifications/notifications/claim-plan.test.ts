import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { dueRows } from '../../../deliveries/queue.ts'
import { createTestApp } from '../../../testing/app.ts'
import { QUEUE } from './delivery-store.ts'
import { configure, createNotifiedSetting } from './testing/notified.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })

test('a claim reads the first notifications of a receiver by index, whatever the length of its queue', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  const now = app.clock.now()
  const deadline = new Date(now.getTime() + 86_400_000)
  await sql`insert into notifications (id, configuration_id, receiver_id, organization_id, workspace_id, run_id, trigger, run_status,
        facts, status, delivery_due_at, deadline_at, created_at)
    select 'ntf-x' || i || '-' || j, c.id, c.id, c.organization_id, c.workspace_id, 'run-x' || i, 'run:created', 's' || j, '{}', 'pending',
           ${now}, ${deadline}, ${now}
      from notification_configurations c, generate_series(1, 2000) i, generate_series(1, 6) j
     where c.id = ${id}`.execute(app.db)
  await sql`analyze notifications`.execute(app.db)
  const connections = { all: 300, reserved: 60, perOrganization: 100, perReceiver: 4 }

  const { rows } = await sql<{ 'QUERY PLAN': string }>`explain (analyze, timing off)
    with recursive ${dueRows(QUEUE, { now, connections, busy: [] })} select id from due`.execute(app.db)
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')

  expect(plan).not.toContain('Seq Scan on notifications')
  expect(plan).toContain('notifications_receiver_due_idx on notifications r')
  const removed = [...plan.matchAll(/Rows Removed by (?:Join )?Filter: (\d+)/g)].map(([, count]) => Number(count))
  expect(Math.max(0, ...removed)).toBeLessThan(2000)
})
