import {
  type NotificationSettingsResource,
  notificationSettingsSchema,
  updateNotificationSettingsBody,
} from '@groundstate/contract/notification-settings'
import { documentOf } from '@groundstate/contract/responses'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { sendsMail } from '../../../mail/mail.ts'
import { type Settings, readSettings, updateSettings } from './service.ts'

const URL_PATH = '/account/notification-settings'
const SETTINGS = { access: 'person', responses: { 200: documentOf(notificationSettingsSchema) } } as const

/** Our own: the e-mails that users choose to receive. */
export const notificationSettingsRoutes: Routes = (http) => {
  http.get(URL_PATH, { ...SETTINGS, summary: 'Show your notification settings' }, async ({ ctx }) =>
    ok(settingsResource(ctx, await readSettings(ctx))),
  )
  http.patch(
    URL_PATH,
    {
      ...SETTINGS,
      summary: 'Update your notification settings',
      audit: 'notification_settings update',
      body: updateNotificationSettingsBody,
    },
    async ({ ctx, body }) => ok(settingsResource(ctx, await updateSettings(ctx, body.data.attributes))),
  )
}

function settingsResource(ctx: Ctx, settings: Settings): NotificationSettingsResource {
  return {
    id: settings.userId,
    type: 'notification-settings',
    attributes: {
      'own-run-triggers': settings.ownRunTriggers,
      'configured-mails': settings.configuredMails,
      'has-mail-server': sendsMail(ctx),
      'allows-other-addresses': ctx.config.notificationEmailAddresses === 'allow',
      configurations: settings.configurations.map((row) => ({
        id: row.id,
        name: row.name,
        enabled: row.enabled,
        triggers: row.triggers,
        'organization-name': row.organization_name,
        subscribable: { id: row.subscribable_id, type: row.subscribable_type, name: row.subscribable_name },
      })),
    },
    links: { self: `/api/v2${URL_PATH}` },
  }
}
