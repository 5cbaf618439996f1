import { z } from 'zod'
import { requestBody } from './json-api.ts'
import { type Written, linkedResource, nullable, timestamp } from './responses.ts'

/** Maximum length of an armored public key, in characters: one of RSA 4096 with many user ids and signatures has about 20,000. */
const MAX_ARMOR_CHARACTERS = 65_536

const namespace = z
  .string()
  .min(1, "Namespace can't be blank")
  .max(255, 'at most 255 characters')
  .describe('the name of the organization')

export const createGpgKeyBody = requestBody(
  'gpg-keys',
  z.object({
    namespace,
    'ascii-armor': z
      .string()
      .min(1, "ASCII armor can't be blank")
      .max(MAX_ARMOR_CHARACTERS, `at most ${MAX_ARMOR_CHARACTERS} characters`),
  }),
)
export type CreateGpgKey = z.infer<typeof createGpgKeyBody>['data']['attributes']

/** A key moves to another organization; nothing else of it changes. */
export const updateGpgKeyBody = requestBody('gpg-keys', z.object({ namespace }))
export type UpdateGpgKey = z.infer<typeof updateGpgKeyBody>['data']['attributes']

export const gpgKeySchema = linkedResource('gpg-keys', {
  attributes: {
    'ascii-armor': z.string().describe('the public key, as it was added'),
    'key-id': z.string().describe('16 upper-case hexadecimal digits'),
    namespace,
    source: z.string().describe('always empty'),
    'source-url': nullable.string.describe('always null'),
    'trust-signature': z.string().describe('always empty'),
    fingerprint: z.string().describe('our own'),
    'user-ids': z.array(z.string()).describe('our own: names and addresses in the key'),
    'expires-at': nullable.time.describe('our own: null for a key that never expires'),
    'created-at': timestamp,
    'updated-at': timestamp,
  },
})
export type GpgKeyResource = Written<typeof gpgKeySchema>
