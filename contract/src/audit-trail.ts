import { z } from 'zod'
import { timestamp, type Written } from './answers.ts'

const auditEvent = z
  .strictObject({
    id: z.string(),
    version: z.literal('0').describe('the version of this format'),
    type: z.literal('Resource'),
    timestamp,
    auth: z.strictObject({
      accessor_id: z.string().nullable().describe('the id of who did it; null for the server itself'),
      description: z.string().describe('the name of who did it'),
      type: z.enum(['Client', 'System']),
      impersonator_id: z.null().describe('nobody acts as somebody else here'),
      organization_id: z.string().nullable().describe('null for what belongs to no organization, such as an account'),
      token_id: z.string().nullable().describe('our own: the API token that was used'),
      address: z.string().nullable().describe('our own: the IP address that the request came from'),
      user_agent: z.string().nullable().describe('our own: the program, as it named itself'),
    }),
    request: z.strictObject({ id: z.string().nullable().describe('null for what no request caused') }),
    resource: z.strictObject({
      id: z.string(),
      type: z.string().describe('in the singular, such as workspace'),
      action: z.string().describe('a verb, such as create'),
      meta: z.record(z.string(), z.unknown()).nullable().describe('what the action was about; depends on the action'),
    }),
  })
  .meta({ id: 'AuditEvent' })

/** A page of an audit trail. It is plain JSON, not JSON:API (public documentation, "Audit trails"). */
export const auditTrailAnswer = z.strictObject({
  data: z.array(auditEvent).describe('newest first'),
  pagination: z.strictObject({
    current_page: z.int(),
    page_size: z.int(),
    prev_page: z.int().nullable(),
    next_page: z.int().nullable(),
    total_pages: z.int(),
    total_count: z.int(),
  }),
})
export type AuditTrailAnswer = Written<typeof auditTrailAnswer>
