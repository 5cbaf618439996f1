import { z } from 'zod'
import { type Written, nullable, timestamp } from './responses.ts'

const auditEvent = z
  .strictObject({
    id: z.string(),
    version: z.literal('0').describe('the version of this format'),
    type: z.literal('Resource'),
    timestamp,
    auth: z.strictObject({
      accessor_id: nullable.string.describe('the id of the actor; null for the server itself'),
      description: z.string().describe('the name of the actor'),
      type: z.enum(['Client', 'System']),
      impersonator_id: z.null().describe('always null: impersonation is not supported'),
      organization_id: nullable.string.describe(
        'null when the resource belongs to no organization, such as an account',
      ),
      token_id: nullable.string.describe('our own: the API token that was used'),
      token: z
        .strictObject({
          description: nullable.string,
          owner: z.strictObject({
            type: z.enum(['teams', 'organizations', 'agent-pools']),
            id: z.string().describe('of an organization, its name'),
            name: z.string(),
          }),
        })
        .nullable()
        .describe('our own: the token, if it is one of a team, an organization or an agent pool and still exists'),
      address: nullable.string.describe('our own: the IP address that the request came from'),
      user_agent: nullable.string.describe('our own: the User-Agent header of the request'),
    }),
    request: z.strictObject({ id: nullable.string.describe('null when no request caused the event') }),
    resource: z.strictObject({
      id: z.string(),
      type: z.string().describe('in the singular, such as workspace'),
      action: z.string().describe('a verb, such as create'),
      meta: z.record(z.string(), z.unknown()).nullable().describe('details, which depend on the action'),
    }),
  })
  .meta({ id: 'AuditEvent' })

/** A page of an audit trail. It is plain JSON, not JSON:API (public documentation, "Audit trails"). */
export const auditTrailResponse = z.strictObject({
  data: z.array(auditEvent).describe('newest first'),
  pagination: z.strictObject({
    current_page: z.int(),
    page_size: z.int(),
    prev_page: nullable.int,
    next_page: nullable.int,
    total_pages: z.int(),
    total_count: z.int(),
  }),
})
export type AuditTrailResponse = Written<typeof auditTrailResponse>

export const auditActorsResponse = z.strictObject({
  actors: z.array(
    z.strictObject({
      id: z.string().describe('the value for `filter[actor][id]`'),
      type: z.enum(['users', 'teams', 'organizations']).describe('the kind of account, or of the tokens'),
      name: z.string(),
    }),
  ),
})
