import type { NotificationConfigurationResource, Trigger } from '@groundstate/contract/notification-configurations'
import type { Ctx } from '../../../app.ts'
import { isWithheld } from '../../../deliveries/attempts.ts'
import type { Configuration } from './access.ts'
import type { Recipients } from './recipients.ts'
import { openTarget } from './target.ts'
import type { Verification } from './verify.ts'

type ResourceCtx = Pick<Ctx, 'actor' | 'secrets'>

/** Callers who may not manage the configuration see neither its URL nor addresses. */
export function configurationResource(
  ctx: ResourceCtx,
  row: Configuration & { recipients: Recipients | null },
): NotificationConfigurationResource {
  const { type, id, canManage } = row.subscribable
  const self = `/api/v2/notification-configurations/${row.id}`
  const url = canManage ? (openTarget(ctx, row).url ?? null) : null
  const addresses = canManage ? row.email_addresses : []
  const isMember = (address: string) => row.member_addresses.includes(address.toLowerCase())
  const last = row.last_notification
  const recipients = canManage ? row.recipients : null
  const verification = row.verification as Verification | null
  return {
    id: row.id,
    type: 'notification-configurations',
    attributes: {
      name: row.name,
      'destination-type': row.destination_type,
      enabled: row.enabled,
      triggers: row.triggers as Trigger[],
      url,
      token: null,
      'has-token': row.token !== null,
      'email-addresses': addresses,
      'user-email-addresses': addresses.filter(isMember),
      'external-email-addresses': addresses.filter((address) => !isMember(address)),
      'email-all-members': row.email_all_members,
      'recipient-count': recipients && recipients.addresses.length,
      'recipient-problem': recipients && recipients.problem,
      'refused-recipients': canManage ? [...(verification?.refused ?? [])] : [],
      'delivery-responses': url === null ? [] : deliveryResponses(ctx, verification, url),
      'last-notification': last && {
        id: last.id,
        trigger: last.trigger,
        status: last.status,
        error: shownError(last, canManage),
        'created-at': new Date(last.created_at),
      },
      permissions: { 'can-update': canManage, 'can-destroy': canManage },
      'created-at': row.created_at,
      'updated-at': row.updated_at,
    },
    relationships: {
      subscribable: { data: { id, type } },
      users: { data: row.user_ids.map((userId) => ({ id: userId, type: 'users' })) },
      notifications: { links: { related: `${self}/notifications` } },
    },
    links: { self },
  }
}

/** The reason may name addresses and servers, so that others than managers see only that there is one. */
export function shownError({ error }: { error: string | null }, canManage: boolean) {
  return error === null || canManage ? error : 'the reason is shown to those who manage the notification configuration'
}

function deliveryResponses(ctx: ResourceCtx, verification: Verification | null, url: string) {
  if (!verification) return []
  const isHidden = isWithheld(ctx, { isPrivate: verification.is_private })
  return [
    {
      url,
      body: isHidden ? '' : verification.body,
      code: verification.code,
      headers: isHidden ? {} : verification.headers,
      'sent-at': verification.sent_at,
      successful: verification.successful ? ('true' as const) : ('false' as const),
    },
  ]
}
