import { z } from 'zod'
import { type Written, hasOne, nullable, resource, timestamp } from './responses.ts'

export const VCS_EVENT_LEVELS = ['info', 'error'] as const

/** An event of a connection, such as a refused token. */
export const vcsEventSchema = resource('vcs-events', {
  attributes: {
    'created-at': timestamp,
    level: z.enum(VCS_EVENT_LEVELS),
    message: z.string(),
    'suggested-action': nullable.string,
  },
  relationships: {
    'oauth-client': hasOne('oauth-clients'),
    'oauth-token': hasOne('oauth-tokens'),
  },
})
export type VcsEventResource = Written<typeof vcsEventSchema>
