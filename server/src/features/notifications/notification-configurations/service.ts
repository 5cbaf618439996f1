import {
  type CreateNotificationConfiguration,
  MAX_NOTIFICATION_CONFIGURATIONS,
  type UpdateNotificationConfiguration,
} from '@groundstate/contract/notification-configurations'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type AuditEvent, recordAudit } from '../../../audit/record.ts'
import type { Notice } from '../../../changes/feed.ts'
import { type Page, transact } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import {
  type Configuration,
  type Subscribable,
  type SubscribableKey,
  requireConfiguration,
  requireSubscribable,
} from './access.ts'
import { checkAddresses, checkDestination, checkTriggers, checkUsers, mailsAll } from './rules.ts'
import * as store from './store.ts'
import { type Target, openTarget, sealTarget } from './target.ts'
import { checkUrl, verify } from './verify.ts'

const URL_AT = '/data/attributes/url'

/** Creates a configuration. With `enabled`, its destination must first respond to a verification, except for e-mail. */
export async function createConfiguration(ctx: Ctx, key: SubscribableKey, input: CreateNotificationConfiguration) {
  const subscribable = await requireSubscribable(ctx, key, 'manage')
  const { attributes, relationships } = input
  const userIds = uniqueUsers(relationships.users) ?? []
  const named = relationships.subscribable?.data
  if (named && (named.id !== key.id || named.type !== key.type))
    throw invalid(`it must be ${key.type} ${key.id}, as in the path`, '/data/relationships/subscribable/data')
  const destination = attributes['destination-type']
  const triggers = attributes.triggers ?? []
  checkTriggers(key.type, triggers)
  checkDestination({ destination, subscribable: key.type, attributes, userIds })
  await checkRecipients(ctx, subscribable, { userIds, addresses: attributes['email-addresses'] ?? [] })
  const target = { type: destination, url: attributes.url || undefined, token: attributes.token || undefined }
  checkTarget(ctx, target)
  await transact(ctx, async (ctx) => checkLimit(ctx, key))

  const id = ctx.newId('nc')
  const { name, enabled } = attributes
  const verification =
    enabled && destination !== 'email' ? await verify(ctx, { id, name, place: subscribable.place, target }) : null
  const now = ctx.now()
  const row = {
    id,
    organization_id: subscribable.organization_id,
    [store.SUBSCRIBABLE_COLUMNS[key.type]]: key.id,
    name,
    destination_type: destination,
    enabled,
    triggers: [...triggers],
    ...sealTarget(ctx, id, target),
    email_addresses: [...(attributes['email-addresses'] ?? [])],
    email_all_members: mailsAll(attributes) ?? false,
    verification: verification && JSON.stringify(verification),
    created_at: now,
    updated_at: now,
  }
  await transact(ctx, async (ctx) => {
    await checkLimit(ctx, key)
    await store.insertConfiguration(ctx.db, row)
    await store.replaceUsers(ctx.db, id, userIds)
    await recordAudit(ctx, await configurationAudit(ctx, { id, name, subscribable }, 'create'))
  })
  return requireConfiguration(ctx, id, 'read')
}

/** Configurations of a workspace, project or team, the oldest first. */
export async function listConfigurations(ctx: Ctx, key: SubscribableKey, page: Page) {
  const subscribable = await requireSubscribable(ctx, key, 'read')
  const { rows, total } = await store.listConfigurations(ctx.db, key, page)
  return { rows: rows.map((row) => ({ ...row, subscribable })), total }
}

/**
 * Updates a configuration. One that is enabled afterwards must respond to a verification, except for e-mail. As in the public API, an update without
 * `users` removes them, unless it only enables or disables.
 */
export async function updateConfiguration(ctx: Ctx, id: string, input: UpdateNotificationConfiguration) {
  const row = await requireConfiguration(ctx, id, 'manage')
  const { attributes, relationships } = input
  const { type: subscribable } = row.subscribable
  const requested = attributes['destination-type']
  if (requested !== undefined && requested !== row.destination_type)
    throw invalid(
      `destination-type is ${row.destination_type} and cannot change: create another configuration`,
      '/data/attributes/destination-type',
    )
  const keepsUsers = Object.keys(attributes).every((name) => name === 'enabled')
  const userIds = uniqueUsers(relationships.users) ?? (keepsUsers ? row.user_ids : [])
  checkTriggers(subscribable, attributes.triggers ?? [])
  checkDestination({ destination: row.destination_type, subscribable, attributes, userIds })
  const addresses = attributes['email-addresses'] ?? []
  await checkRecipients(ctx, row.subscribable, { userIds: withoutKnown(userIds, row.user_ids), addresses })
  const before = openTarget(ctx, row)
  const target: Target = {
    type: row.destination_type,
    url: attributes.url === undefined ? before.url : attributes.url || undefined,
    token: attributes.token === undefined ? before.token : attributes.token || undefined,
  }
  checkTarget(ctx, target)
  const { name, enabled, triggers } = attributes
  const isVerified = (enabled ?? row.enabled) && row.destination_type !== 'email'
  const verification = isVerified
    ? await verify(ctx, { id, name: name ?? row.name, place: row.subscribable.place, target })
    : undefined
  const mailsAllMembers = mailsAll(attributes)
  // Only requested attributes: others may have changed during the verification.
  const changes = {
    ...(name !== undefined && { name }),
    ...(enabled !== undefined && { enabled }),
    ...(triggers && { triggers: [...triggers] }),
    ...(target.url !== before.url || target.token !== before.token ? sealTarget(ctx, id, target) : {}),
    ...(attributes['email-addresses'] && { email_addresses: [...addresses] }),
    ...(mailsAllMembers !== undefined && { email_all_members: mailsAllMembers }),
    ...(verification && { verification: JSON.stringify(verification) }),
    updated_at: ctx.now(),
  }
  await saveConfiguration(ctx, row, {
    changes,
    userIds: keepsUsers && !relationships.users ? undefined : userIds,
    names: [...Object.keys(attributes), ...Object.keys(relationships)],
  })
  return requireConfiguration(ctx, id, 'read')
}

/** Enables a configuration after a verification, or disables it. */
export async function enableConfiguration(ctx: Ctx, id: string, enabled: boolean) {
  return updateConfiguration(ctx, id, { attributes: { enabled }, relationships: {} } as UpdateNotificationConfiguration)
}

/** Sends a verification, also of a disabled configuration, and stores the response. Throws `bad-request` unless that is 2xx. */
export async function verifyConfiguration(ctx: Ctx, id: string) {
  const row = await requireConfiguration(ctx, id, 'manage')
  const target = openTarget(ctx, row)
  checkTarget(ctx, target)
  const verification = await verify(ctx, { id, name: row.name, place: row.subscribable.place, target })
  await transact(ctx, async (ctx) => {
    await store.updateConfiguration(ctx.db, id, { verification: JSON.stringify(verification) })
    await recordAudit(ctx, await configurationAudit(ctx, row, 'verify'))
  })
  return requireConfiguration(ctx, id, 'read')
}

/** Deletes a configuration with its notifications; those that are queued are not sent. */
export async function deleteConfiguration(ctx: Ctx, id: string) {
  const row = await requireConfiguration(ctx, id, 'manage')
  await transact(ctx, async (ctx) => {
    await recordAudit(ctx, await configurationAudit(ctx, row, 'destroy'))
    await store.deleteConfiguration(ctx.db, id)
  })
}

type Saved = { changes: store.ConfigurationChanges; userIds: readonly string[] | undefined; names: readonly string[] }

/** Throws `conflict` if the destination has changed since it was read. */
async function saveConfiguration(ctx: Ctx, row: Configuration, { changes, userIds, names }: Saved) {
  const { id } = row
  await transact(ctx, async (ctx) => {
    const locked = await store.lockConfiguration(ctx.db, id)
    if (!locked) throw notFound('notification configuration')
    if (!isSame(locked.url, row.url) || !isSame(locked.token, row.token))
      throw conflict(
        `the URL or token of the notification configuration ${locked.name} has just been changed: try again`,
      )
    await store.updateConfiguration(ctx.db, id, changes)
    if (userIds) await store.replaceUsers(ctx.db, id, userIds)
    if (locked.enabled && changes.enabled === false)
      await store.cancelNotifications(ctx.db, id, 'the notification configuration was disabled')
    const event = await configurationAudit(ctx, row, 'update')
    await recordAudit(ctx, { ...event, meta: { ...event.meta, changes: names } })
  })
}

function isSame(one: Buffer | null, other: Buffer | null) {
  return one === null || other === null ? one === other : one.equals(other)
}

function uniqueUsers(users: { data: readonly { id: string }[] } | undefined) {
  return users && [...new Set(users.data.map(({ id }) => id))]
}

/** Users that an update adds. Those who have left the organization meanwhile may stay named: they get nothing. */
function withoutKnown(ids: readonly string[], known: readonly string[]) {
  return ids.filter((id) => !known.includes(id))
}

type Recipients = { userIds: readonly string[]; addresses: readonly string[] }

async function checkRecipients(ctx: Ctx, { organization_id }: Subscribable, { userIds, addresses }: Recipients) {
  if (userIds.length > 0) checkUsers(userIds, await store.findMembers(ctx.db, organization_id, userIds))
  if (addresses.length > 0 && ctx.config.notificationEmailAddresses !== 'allow')
    checkAddresses(addresses, await store.findMemberAddresses(ctx.db, organization_id, addresses))
}

function checkTarget(ctx: Ctx, { type, url }: Target) {
  if (type === 'email') return
  if (url === undefined) throw invalid("url can't be blank: it is where the messages are sent", URL_AT)
  checkUrl(ctx, url)
}

async function checkLimit(ctx: TransactionCtx, key: SubscribableKey) {
  const count = await store.countConfigurations(ctx.db, key)
  if (count === undefined) throw conflict('it has just been deleted')
  if (count >= MAX_NOTIFICATION_CONFIGURATIONS)
    throw invalid(
      `there are ${count} notification configurations already, and at most ${MAX_NOTIFICATION_CONFIGURATIONS} are allowed`,
    )
}

type Audited = { id: string; name: string; subscribable: Subscribable }

/** `changes` are attribute names only: a URL may hold a secret, as the token does. */
async function configurationAudit(
  ctx: TransactionCtx,
  { id, name, subscribable }: Audited,
  action: 'create' | 'update' | 'destroy' | 'verify',
): Promise<AuditEvent> {
  const { type, organization_id: organizationId } = subscribable
  return {
    organizationId,
    action,
    resource: { type: 'notification_configuration', id },
    meta: { name, [type.replace(/s$/, '')]: subscribable.id },
    notices: [await configurationNotice(ctx, { id, subscribable })],
  }
}

export async function configurationNotice(
  ctx: Pick<Ctx, 'db'>,
  { id, subscribable }: { id: string; subscribable: SubscribableKey },
): Promise<Omit<Notice, 'organization'>> {
  const notice = { type: 'notification-configurations' as const, id }
  if (subscribable.type === 'workspaces') return { ...notice, workspace: subscribable.id }
  if (subscribable.type === 'teams') return { ...notice, teams: [subscribable.id] }
  return { ...notice, teams: await store.listProjectTeams(ctx.db, subscribable.id) }
}
