import { z } from 'zod'
import { type Written, hasOne, resource, timestamp } from './responses.ts'

export const runEventSchema = resource(
  'run-events',
  {
    attributes: {
      action: z.string().describe('what happened, such as `created`, `confirmed` or `commented`'),
      description: z.string().nullable(),
      'created-at': timestamp,
    },
    relationships: {
      run: hasOne('runs'),
      actor: hasOne('users').describe('the user who acted; none when the server did'),
      comment: hasOne('comments'),
    },
    links: { self: z.string() },
  },
  'RunEvent',
)
export type RunEventResource = Written<typeof runEventSchema>
