import { z } from 'zod'
import { boundedList, resourceId } from './json-api.ts'
import { type Written, hasOne, linkedResource, nullable, timestamp } from './responses.ts'

const attributes = z.object({
  description: z.string().max(255, 'description is too long (maximum is 255 characters)').nullish(),
  'expired-at': z.iso.datetime({ offset: true, message: 'expired-at must be an ISO 8601 timestamp' }).nullish(),
})

/** Existing clients send no body, an empty type, or the type of the public API. */
export const createTokenBody = z
  .object({
    data: z
      .object({ type: z.enum(['authentication-tokens', '']).optional(), attributes: attributes.nullish() })
      .nullish(),
  })
  .nullish()
  .transform((body) => body?.data?.attributes ?? {})
export type CreateToken = z.infer<typeof attributes>

export const deleteTokensBody = z.object({
  data: boundedList(z.object({ type: z.literal('authentication-tokens').optional(), id: resourceId })),
})

export const tokenSchema = linkedResource('authentication-tokens', {
  attributes: {
    'created-at': timestamp,
    'last-used-at': nullable.time,
    'expired-at': nullable.time.describe(
      'when it expires: as requested or, except for agent tokens, after the default time of the server; null if it never does',
    ),
    description: nullable.string,
    token: nullable.string.describe('the secret; shown only in the response to the creation'),
  },
  relationships: {
    'created-by': hasOne('users'),
    team: hasOne('teams').optional().describe('present for team tokens only'),
  },
})
export type TokenResource = Written<typeof tokenSchema>
