import { z } from 'zod'
import { type Written, hasOne, resource } from './responses.ts'

const days = z.int().min(1).max(36_500)
const deleteOlder = z
  .object({ 'delete-older-than-n-days': days.optional(), deleteOlderThanNDays: days.optional() })
  .refine((attributes) => (attributes['delete-older-than-n-days'] ?? attributes.deleteOlderThanNDays) !== undefined, {
    message: 'delete-older-than-n-days is missing',
    path: ['delete-older-than-n-days'],
  })
  .transform((attributes) => attributes['delete-older-than-n-days'] ?? attributes.deleteOlderThanNDays ?? null)

/** Days after which content is deleted, or null to keep it forever. The first type is sent by older clients. */
export const dataRetentionPolicyBody = z
  .object({
    data: z.discriminatedUnion('type', [
      z.object({ type: z.literal('data-retention-policies'), attributes: deleteOlder }),
      z.object({ type: z.literal('data-retention-policy-delete-olders'), attributes: deleteOlder }),
      z.object({ type: z.literal('data-retention-policy-dont-deletes') }),
    ]),
  })
  .transform(({ data }) => ({ deleteOlderThanDays: 'attributes' in data ? data.attributes : null }))
export type DataRetentionPolicyInput = z.infer<typeof dataRetentionPolicyBody>

const relationships = { target: hasOne('organizations', 'workspaces') }

const deleteOlderPolicySchema = resource('data-retention-policy-delete-olders', {
  name: 'DeleteOlderPolicy',
  attributes: { 'delete-older-than-n-days': z.int().describe('days after which backing data is deleted') },
  relationships,
})
const dontDeletePolicySchema = resource('data-retention-policy-dont-deletes', {
  name: 'DontDeletePolicy',
  attributes: {},
  relationships,
})

export const dataRetentionPolicySchema = z
  .discriminatedUnion('type', [deleteOlderPolicySchema, dontDeletePolicySchema])
  .meta({ id: 'DataRetentionPolicy' })
export type DataRetentionPolicyResource = Written<typeof dataRetentionPolicySchema>
