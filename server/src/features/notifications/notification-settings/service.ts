import type { OwnRunTrigger, UpdateNotificationSettings } from '@groundstate/contract/notification-settings'
import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { requirePerson } from '../../identity/account/service.ts'
import * as store from './store.ts'

export type Settings = Awaited<ReturnType<typeof readSettings>>

/** The e-mails that the user of the request receives. */
export async function readSettings(ctx: Ctx) {
  const { id } = await requirePerson(ctx)
  const [row, configurations] = await Promise.all([
    store.findSettings(ctx.db, id),
    store.listNamingConfigurations(ctx.db, id),
  ])
  return {
    userId: id,
    ownRunTriggers: (row?.own_run_triggers ?? []) as OwnRunTrigger[],
    configuredMails: row?.configured_mails ?? true,
    configurations,
  }
}

export async function updateSettings(ctx: Ctx, attributes: UpdateNotificationSettings) {
  const { id, username } = await requirePerson(ctx)
  const { 'own-run-triggers': triggers, 'configured-mails': mails } = attributes
  const changes = {
    ...(triggers && { own_run_triggers: [...triggers] }),
    ...(mails !== undefined && { configured_mails: mails }),
  }
  if (Object.keys(changes).length > 0) {
    const event = {
      organizationId: undefined,
      action: 'update',
      resource: { type: 'notification_settings', id },
      meta: { username, changes: attributes },
      notices: [],
    }
    await audited(ctx, event, async (ctx) => store.putSettings(ctx.db, id, changes))
  }
  return readSettings(ctx)
}
