import { z } from 'zod'
import { boundedList, requestBody, toMany, toTyped } from './json-api.ts'
import {
  type Written,
  hasMany,
  hasOne,
  linkedResource,
  linksToMany,
  nullable,
  resource,
  timestamp,
} from './responses.ts'
import { RUN_STATUS } from './run-status.ts'
import { exchangeAttributes, receivedResponse } from './run-tasks.ts'

export const DESTINATION_TYPES = ['generic', 'slack', 'microsoft-teams', 'email'] as const
export const destinationType = z.enum(DESTINATION_TYPES)
export type DestinationType = (typeof DESTINATION_TYPES)[number]

/** Types of resources that have notification configurations. */
export const SUBSCRIBABLE_TYPES = ['workspaces', 'projects', 'teams'] as const
export type SubscribableType = (typeof SUBSCRIBABLE_TYPES)[number]

/** The triggers about runs, in the order in which a run raises them. */
export const RUN_TRIGGERS = [
  'run:created',
  'run:planning',
  'run:needs_attention',
  'run:applying',
  'run:completed',
  'run:errored',
] as const
export type RunTrigger = (typeof RUN_TRIGGERS)[number]

/** The triggers of configurations of workspaces and projects. */
export const WORKSPACE_TRIGGERS = [
  ...RUN_TRIGGERS,
  'assessment:drifted',
  'assessment:check_failure',
  'assessment:failed',
  'workspace:auto_destroy_reminder',
  'workspace:auto_destroy_run_results',
  'workspace:deleted',
] as const

/** The triggers of configurations of teams. The public documentation also has the older name of the first. */
export const TEAM_TRIGGERS = ['change_request:created', 'team:change_request'] as const

export const TRIGGERS = [...WORKSPACE_TRIGGERS, ...TEAM_TRIGGERS] as const
export type Trigger = (typeof TRIGGERS)[number]

/** Maximum number of notification configurations of one workspace, project or team. */
export const MAX_NOTIFICATION_CONFIGURATIONS = 20

/** Maximum number of addresses that a configuration names. */
export const MAX_EMAIL_ADDRESSES = 100

const name = z
  .string()
  .trim()
  .min(1, "Name can't be blank")
  .max(255, 'Name is too long (maximum is 255 characters)')
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'Name must not contain control characters or line breaks')
/** Keeps the order, since clients compare it; drops duplicates. */
const triggers = boundedList(z.enum(TRIGGERS), 100).transform((names) => [...new Set(names)])
const emailAddresses = boundedList(z.email().max(254), MAX_EMAIL_ADDRESSES).transform(uniqueAddresses)

/** The first spelling of each address, since mail servers ignore case. */
function uniqueAddresses(addresses: readonly string[]) {
  const keys = addresses.map((address) => address.toLowerCase())
  return addresses.filter((_, index) => keys.indexOf(keys[index] ?? '') === index)
}

const attributes = z.object({
  name,
  'destination-type': destinationType,
  enabled: z.boolean().default(false),
  triggers: triggers.nullish(),
  /** The server decides whether requests may go to the address. Clients send an empty one with e-mail. */
  url: z.string().max(2000).nullish(),
  /** Key that signs every request; null or empty removes it. Never shown. */
  token: z.string().max(1000).nullish(),
  'email-addresses': emailAddresses.nullish(),
  'email-all-members': z.boolean().nullish(),
  /** The name in the public documentation. */
  email_all_members: z.boolean().nullish(),
})
const users = toMany('users').optional()

/** The public documentation's examples have both forms of the type. */
const type = z
  .enum(['notification-configurations', 'notification-configuration'])
  .default('notification-configurations')

export const createNotificationConfigurationBody = requestBody(
  type,
  attributes,
  z.object({ users, subscribable: toTyped(...SUBSCRIBABLE_TYPES).optional() }),
)
export type CreateNotificationConfiguration = z.infer<typeof createNotificationConfigurationBody>['data']

export const updateNotificationConfigurationBody = requestBody(
  type,
  attributes.extend({ enabled: z.boolean() }).partial(),
  z.object({ users }),
)
export type UpdateNotificationConfiguration = z.infer<typeof updateNotificationConfigurationBody>['data']

const deliveryResponse = z.strictObject({
  url: z.string(),
  body: z.string(),
  code: z.string().describe('HTTP status, such as `200`'),
  headers: z.record(z.string(), z.array(z.string())),
  'sent-at': timestamp,
  successful: z.enum(['true', 'false']),
})

export const NOTIFICATION_STATUS = ['pending', 'delivered', 'failed', 'canceled'] as const
export type NotificationStatus = (typeof NOTIFICATION_STATUS)[number]

const notificationStatus = z
  .enum(NOTIFICATION_STATUS)
  .describe('`failed` once it was given up, `canceled` if its configuration was disabled or deleted before')

export const notificationConfigurationSchema = linkedResource('notification-configurations', {
  attributes: {
    name: z.string(),
    'destination-type': destinationType,
    enabled: z.boolean(),
    triggers: z.array(z.enum(TRIGGERS)),
    url: nullable.string.describe('null for e-mail, and for callers who may not manage the configuration'),
    token: z.null().describe('never shown'),
    'has-token': z.boolean().describe('our own: whether requests are signed'),
    'email-addresses': z.array(z.string()).describe('the addresses that the configuration names'),
    'user-email-addresses': z.array(z.string()).describe('those of them that belong to members of the organization'),
    'external-email-addresses': z.array(z.string()).describe('those of them that do not'),
    'email-all-members': z
      .boolean()
      .describe('whether all members of the project or team get the e-mail; they also do when no user is named'),
    'recipient-count': z
      .int()
      .nullable()
      .describe(
        'our own: how many addresses get its e-mails; null for other destinations and for those who may not manage it',
      ),
    'recipient-problem': nullable.string.describe('our own: why nobody gets its e-mails'),
    'refused-recipients': z
      .array(z.string())
      .describe('our own: the addresses that the mail server refused in the latest verification'),
    'delivery-responses': z.array(deliveryResponse).describe('the response to the latest verification, if any'),
    'last-notification': z
      .strictObject({
        id: z.string(),
        trigger: z.enum(TRIGGERS),
        status: notificationStatus,
        error: nullable.string,
        'created-at': timestamp,
      })
      .nullable()
      .describe('our own: the latest notification that was raised'),
    permissions: z.strictObject({ 'can-update': z.boolean(), 'can-destroy': z.boolean() }),
    'created-at': timestamp,
    'updated-at': timestamp,
  },
  relationships: {
    subscribable: hasOne(...SUBSCRIBABLE_TYPES),
    users: hasMany('users').describe('the members who get the e-mails'),
    notifications: linksToMany('notifications'),
  },
})
export type NotificationConfigurationResource = Written<typeof notificationConfigurationSchema>

/** A message about an event, and how far its delivery got: a resource of our own. */
export const notificationSchema = linkedResource('notifications', {
  attributes: {
    trigger: z.enum(TRIGGERS),
    message: z.string(),
    status: notificationStatus,
    'run-id': nullable.string,
    'run-message': nullable.string,
    'run-status': z.enum(RUN_STATUS).nullable().describe('the status of the run when the notification was raised'),
    'workspace-id': nullable.string,
    'workspace-name': nullable.string,
    attempts: z.int().describe('how many times it was sent'),
    error: nullable.string.describe(
      'why the last attempt failed; of a delivered e-mail, which recipients were refused',
    ),
    'created-at': timestamp,
    'delivered-at': nullable.time,
    'next-attempt-at': nullable.time.describe('when it is sent again; null when it is not'),
    permissions: z.strictObject({ 'can-redeliver': z.boolean() }),
  },
  relationships: {
    'notification-configuration': hasOne('notification-configurations'),
    run: hasOne('runs'),
    deliveries: linksToMany('notification-deliveries'),
  },
})
export type NotificationResource = Written<typeof notificationSchema>

/** One attempt to deliver a notification, with request and response: a resource of our own. */
export const notificationDeliverySchema = resource('notification-deliveries', {
  attributes: {
    attempt: z.int().describe('counted from 1'),
    status: z.enum(['succeeded', 'failed']),
    ...exchangeAttributes,
    request: z
      .strictObject({
        method: z.enum(['POST', 'SMTP']),
        url: z.string().describe('without its path and query, which may be secret'),
        headers: z.record(z.string(), z.string()),
        body: z.string(),
      })
      .describe('the signature is left out'),
    response: receivedResponse.describe('of a mail server: its reply code and text'),
    error: nullable.string.describe('why there is no response, or why it does not acknowledge the request'),
    'next-attempt-at': nullable.time,
  },
  relationships: { notification: hasOne('notifications') },
})
export type NotificationDeliveryResource = Written<typeof notificationDeliverySchema>
