import type { NotificationStatus } from '@groundstate/contract/notification-configurations'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { type Page, transact } from '../../../db/db.ts'
import { isWithheld } from '../../../deliveries/attempts.ts'
import { conflict, notFound } from '../../../errors.ts'
import { requireConfiguration } from '../notification-configurations/access.ts'
import { configurationNotice } from '../notification-configurations/service.ts'
import { requireNotification } from './access.ts'
import { MAX_AGE_MS, TOPIC } from './raise.ts'
import * as store from './store.ts'

type ListInput = { page: Page; status: NotificationStatus | undefined }

/** The notifications of a configuration that the actor may see, the latest first. */
export async function listNotifications(ctx: Ctx, configurationId: string, input: ListInput) {
  const configuration = await requireConfiguration(ctx, configurationId, 'read')
  const rows = await store.listNotifications(ctx.db, configuration.id, input)
  const { size } = input.page
  return { rows: rows.slice(0, size).map((row) => ({ ...row, configuration })), isLast: rows.length <= size }
}

/** The attempts of a notification, the latest first. Only those who manage the configuration see requests and responses. */
export async function listAttempts(ctx: Ctx, id: string, page: Page) {
  const notification = await requireNotification(ctx, id, 'read')
  if (!notification.configuration.subscribable.canManage) throw notFound('notification')
  const { rows, total } = await store.listAttempts(ctx.db, notification.id, page)
  const isHidden = (row: { is_private: boolean }) => isWithheld(ctx, { isPrivate: row.is_private })
  return { rows: rows.map((row) => ({ ...row, isHidden: isHidden(row) })), total }
}

/** Sends a notification again, or now if it waits for another attempt. Throws `conflict` if its configuration is disabled or it is being sent. */
export async function redeliver(ctx: Ctx, id: string) {
  const { configuration } = await requireNotification(ctx, id, 'manage')
  if (!configuration.enabled)
    throw conflict(`the notification configuration ${configuration.name} is disabled: enable it first`)
  await transact(ctx, async (ctx) => {
    const now = ctx.now()
    const deadline = new Date(now.getTime() + MAX_AGE_MS)
    if (!(await store.requeueNotification(ctx.db, id, { now, deadline })))
      throw conflict('the notification is being sent at the moment: wait for the result')
    await recordAudit(ctx, {
      organizationId: configuration.organization_id,
      action: 'redeliver',
      resource: { type: 'notification', id },
      meta: { configuration: configuration.id, name: configuration.name },
      notices: [await configurationNotice(ctx, configuration)],
    })
    ctx.signals.publish(ctx.db, TOPIC)
  })
  return requireNotification(ctx, id, 'read')
}
