import { z } from 'zod'
import { boundedList, plainBody } from './json-api.ts'
import { SUBSCRIBABLE_TYPES, TRIGGERS } from './notification-configurations.ts'
import { type Written, linkedResource } from './responses.ts'

/** Events of their own runs that users may get as e-mail. */
export const OWN_RUN_TRIGGERS = ['run:needs_attention', 'run:completed', 'run:errored'] as const
export type OwnRunTrigger = (typeof OWN_RUN_TRIGGERS)[number]

const ownRunTriggers = boundedList(z.enum(OWN_RUN_TRIGGERS), 100).transform((names) => [...new Set(names)])

export const updateNotificationSettingsBody = plainBody(
  'notification-settings',
  z.object({ 'own-run-triggers': ownRunTriggers, 'configured-mails': z.boolean() }).partial(),
)
export type UpdateNotificationSettings = z.infer<typeof updateNotificationSettingsBody>['data']['attributes']

/** The e-mails that a user receives: a resource of our own, with the id of the user. */
export const notificationSettingsSchema = linkedResource('notification-settings', {
  attributes: {
    'own-run-triggers': z.array(z.enum(OWN_RUN_TRIGGERS)).describe('events of runs that the user started'),
    'configured-mails': z.boolean().describe('whether e-mails of notification configurations are received'),
    'has-mail-server': z.boolean().describe('whether the server can send e-mail at all'),
    'allows-other-addresses': z
      .boolean()
      .describe('whether notification configurations may name addresses of people without an account'),
    configurations: z
      .array(
        z.strictObject({
          id: z.string(),
          name: z.string(),
          enabled: z.boolean(),
          triggers: z.array(z.enum(TRIGGERS)),
          'organization-name': z.string(),
          subscribable: z.strictObject({
            id: z.string(),
            type: z.enum(SUBSCRIBABLE_TYPES),
            name: z.string(),
          }),
        }),
      )
      .describe('the notification configurations that name the user, or all members of a project or team'),
  },
})
export type NotificationSettingsResource = Written<typeof notificationSettingsSchema>
