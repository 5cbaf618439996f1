import {
  type CreateNotificationConfiguration,
  type DestinationType,
  type SubscribableType,
  TEAM_TRIGGERS,
  type Trigger,
  WORKSPACE_TRIGGERS,
} from '@groundstate/contract/notification-configurations'
import { invalid } from '../../../errors.ts'

const at = (attribute: string) => `/data/attributes/${attribute}`
const USERS = '/data/relationships/users/data'

const TRIGGERS_OF: Readonly<Record<SubscribableType, readonly Trigger[]>> = {
  workspaces: WORKSPACE_TRIGGERS,
  projects: WORKSPACE_TRIGGERS,
  teams: TEAM_TRIGGERS,
}

/** Throws `invalid` for triggers that the workspace, project or team does not have. */
export function checkTriggers(type: SubscribableType, triggers: readonly Trigger[]) {
  const known = TRIGGERS_OF[type]
  const index = triggers.findIndex((trigger) => !known.includes(trigger))
  if (index === -1) return
  throw invalid(
    `${triggers[index]} is not a trigger of ${type}: it must be one of ${known.join(', ')}`,
    `${at('triggers')}/${index}`,
  )
}

type Attributes = Partial<CreateNotificationConfiguration['attributes']>
type Settings = {
  destination: DestinationType
  subscribable: SubscribableType
  attributes: Attributes
  userIds: readonly string[]
}

/** Throws `invalid` for attributes that the kind of destination does not have. Clients send empty ones. */
export function checkDestination({ destination, subscribable, attributes, userIds }: Settings) {
  const isEmail = destination === 'email'
  if (isEmail && attributes.url) throw invalid('url cannot be set when destination-type is email', at('url'))
  if (destination !== 'generic' && attributes.token)
    throw invalid(
      `token cannot be set when destination-type is ${destination}: only generic requests are signed`,
      at('token'),
    )
  if (!isEmail && (attributes['email-addresses'] ?? []).length > 0)
    throw invalid(`email-addresses cannot be set when destination-type is ${destination}`, at('email-addresses'))
  if (!isEmail && userIds.length > 0)
    throw invalid(`users cannot be set when destination-type is ${destination}`, USERS)
  if (!mailsAll(attributes)) return
  if (!isEmail)
    throw invalid(`email-all-members cannot be set when destination-type is ${destination}`, at('email-all-members'))
  if (subscribable === 'workspaces')
    throw invalid(
      'email-all-members cannot be set for a workspace, which has no members: name users',
      at('email-all-members'),
    )
}

/** The attribute, by either of its names; undefined if absent. */
export function mailsAll(attributes: Attributes) {
  return attributes['email-all-members'] ?? attributes.email_all_members ?? undefined
}

/** Throws `invalid` for users that are not members of the organization. */
export function checkUsers(userIds: readonly string[], members: ReadonlySet<string>) {
  const index = userIds.findIndex((id) => !members.has(id))
  if (index !== -1) throw invalid(`${userIds[index]} is not a member of the organization`, `${USERS}/${index}/id`)
}

/** Throws `invalid` for addresses that belong to no member of the organization. */
export function checkAddresses(addresses: readonly string[], members: ReadonlySet<string>) {
  const index = addresses.findIndex((address) => !members.has(address.toLowerCase()))
  if (index === -1) return
  throw invalid(
    `${addresses[index]} belongs to no member of the organization: GROUNDSTATE_NOTIFICATION_EMAIL_ADDRESSES=allow on the server allows other addresses`,
    `${at('email-addresses')}/${index}`,
  )
}
