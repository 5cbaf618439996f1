import { z } from 'zod'
import { type Written, hasOne, nullable, resource, timestamp } from './responses.ts'
import { receivedResponse, sentRequest } from './run-tasks.ts'

/** Our own: a request that set the status of a commit at its host, and the response. */
export const commitStatusDeliverySchema = resource('commit-status-deliveries', {
  attributes: {
    'commit-sha': z.string(),
    kind: z.enum(['run', 'plan']).describe('the status of a run, or of a speculative plan'),
    status: z.enum(['succeeded', 'failed']),
    'sent-at': timestamp,
    'duration-ms': z.int(),
    request: sentRequest,
    response: receivedResponse,
    error: nullable.string.describe('why there is no response'),
  },
  relationships: { workspace: hasOne('workspaces'), run: hasOne('runs') },
})
export type CommitStatusDeliveryResource = Written<typeof commitStatusDeliverySchema>
