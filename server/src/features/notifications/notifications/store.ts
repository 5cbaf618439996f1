import type { NotificationStatus } from '@groundstate/contract/notification-configurations'
import { type Selectable, sql } from 'kysely'
import { type Db, type Page, pageOffset } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type NotificationRow = Selectable<Schema['notifications']>

/** A notification of a configuration; the e-mails of users about their own runs are on no page. */
export async function findNotification(db: Db, id: string) {
  return db
    .selectFrom('notifications')
    .selectAll()
    .where('id', '=', id)
    .where('configuration_id', 'is not', null)
    .executeTakeFirst()
}

type ListNotifications = { page: Page; status: NotificationStatus | undefined }

/** A page of the notifications of a configuration and one more, the latest first. Counting them would read all. */
export async function listNotifications(db: Db, configurationId: string, { page, status }: ListNotifications) {
  return db
    .selectFrom('notifications')
    .selectAll()
    .where('configuration_id', '=', configurationId)
    .$if(status !== undefined, (query) => query.where('status', '=', status ?? 'pending'))
    .orderBy('seq', 'desc')
    .limit(page.size + 1)
    .offset(pageOffset(page))
    .execute()
}

/** The attempts of a notification, the latest first. */
export async function listAttempts(db: Db, notificationId: string, page: Page) {
  const all = db.selectFrom('notification_deliveries').where('notification_id', '=', notificationId)
  return readPaged(page, all.selectAll().orderBy('attempt', 'desc'), all)
}

/** Makes a notification due now; undefined while an attempt is in progress. One that was delivered goes to all recipients again. */
export async function requeueNotification(db: Db, id: string, { now, deadline }: { now: Date; deadline: Date }) {
  const { rows } = await sql<{ id: string }>`update notifications
       set status = 'pending', delivery_due_at = ${now}, deadline_at = ${deadline},
           delivered_to = case when status = 'delivered' then '{}' else delivered_to end, refused_to = '{}'
     where id = ${id} and (lease_expires_at is null or lease_expires_at <= ${now})
    returning id`.execute(db)
  return rows[0]
}

export type NotificationCursor = { created_at: Date; id: string }

/** Deletes a batch of notifications that ended before, with their attempts. */
export async function deleteNotifications(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { rows } = await sql`delete from notifications where id = any(array(
      select id from notifications where delivery_due_at is null and created_at < ${before}
       order by created_at limit ${limit})) returning id`.execute(db)
  return rows.length
}
