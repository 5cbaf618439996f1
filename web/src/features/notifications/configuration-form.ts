import type { DestinationType, Trigger } from '@groundstate/contract/notification-configurations'
import { DESTINATIONS } from './destinations.ts'
import type { Configuration, ConfigurationBody } from './notifications.ts'
import { TRIGGER_NAMES } from './triggers.ts'

/** The values of the form. The token is write-only: `token` replaces it. */
export type ConfigurationValues = {
  type: DestinationType
  name: string
  enabled: boolean
  url: string
  token: string
  isTokenRemoved: boolean
  /** One per line. */
  addresses: string
  isForAllMembers: boolean
} & Record<Trigger, boolean>

/** The events that people most often wait for. */
const USUAL: readonly Trigger[] = ['run:needs_attention', 'run:errored', 'change_request:created']

export const NEW_CONFIGURATION: ConfigurationValues = {
  type: 'slack',
  name: '',
  enabled: true,
  url: '',
  token: '',
  isTokenRemoved: false,
  addresses: '',
  isForAllMembers: false,
  ...selection(USUAL),
}

export function configurationValues({ attributes }: Configuration): ConfigurationValues {
  return {
    ...NEW_CONFIGURATION,
    type: attributes['destination-type'],
    name: attributes.name,
    enabled: attributes.enabled,
    url: attributes.url ?? '',
    addresses: attributes['email-addresses'].join('\n'),
    isForAllMembers: attributes['email-all-members'],
    ...selection(attributes.triggers),
  }
}

/** The body that saves the changes; `values` are those of the whole form, and `offered` the triggers that it shows. */
export function configurationBody(
  changes: Partial<ConfigurationValues>,
  values: ConfigurationValues,
  offered: readonly Trigger[],
  userIds: readonly string[] = [],
): ConfigurationBody {
  const { type, name, enabled, url, token, isTokenRemoved, addresses, isForAllMembers } = changes
  const isMail = values.type === 'email'
  const hasUrl = 'url' in DESTINATIONS[values.type]
  return {
    attributes: {
      ...(type !== undefined && { 'destination-type': type }),
      ...(name !== undefined && { name: name.trim() }),
      ...(enabled !== undefined && { enabled }),
      ...(url !== undefined && hasUrl && { url: url.trim() }),
      ...(token && values.type === 'generic' && { token }),
      ...(isTokenRemoved && { token: null }),
      ...(addresses !== undefined && isMail && { 'email-addresses': addressesIn(addresses) }),
      ...(isForAllMembers !== undefined && isMail && { 'email-all-members': isForAllMembers }),
      ...(TRIGGER_NAMES.some((trigger) => trigger in changes) && { triggers: selectedTriggers(values, offered) }),
    },
    // An update without users removes them.
    userIds: isMail ? userIds : undefined,
  }
}

export function selectedTriggers(values: ConfigurationValues, offered: readonly Trigger[]) {
  return offered.filter((trigger) => values[trigger])
}

/** Addresses separated by line breaks, commas, semicolons or spaces. */
function addressesIn(text: string) {
  return text.split(/[\s,;]+/).filter((address) => address !== '')
}

function selection(selected: readonly Trigger[]) {
  return Object.fromEntries(TRIGGER_NAMES.map((trigger) => [trigger, selected.includes(trigger)])) as Record<
    Trigger,
    boolean
  >
}
