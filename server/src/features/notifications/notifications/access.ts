import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { type Configuration, requireConfiguration } from '../notification-configurations/access.ts'
import * as store from './store.ts'

/** A notification, with its configuration. */
export type Notification = store.NotificationRow & { configuration: Configuration }

/** Throws `not-found` if the actor may not see its configuration, `forbidden` if it may not manage that. */
export async function requireNotification(ctx: Ctx, id: string, level: 'read' | 'manage'): Promise<Notification> {
  const row = await store.findNotification(ctx.db, id)
  if (row?.configuration_id == null) throw notFound('notification')
  return { ...row, configuration: await requireConfiguration(ctx, row.configuration_id, level, 'notification') }
}
