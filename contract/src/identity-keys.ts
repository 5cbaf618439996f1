import { z } from 'zod'
import { plainBody } from './json-api.ts'
import { type Written, linkedResource, nullable, timestamp, wholeListOf } from './responses.ts'

/** States of a key: `next` is published and does not sign yet, `previous` is published and no longer signs. */
export const identityKeyState = z.enum(['next', 'current', 'previous'])
export type IdentityKeyState = z.infer<typeof identityKeyState>

/** A key that signs the tokens of runs; without its private part. */
export const identityKeySchema = linkedResource('identity-keys', {
  attributes: {
    'key-id': z.string().describe('the `kid` of tokens and of the published key: the SHA-256 thumbprint of RFC 7638'),
    algorithm: z.literal('RS256'),
    state: identityKeyState,
    'created-at': timestamp,
    'published-at': timestamp.describe('since when the published keys of this server contain it'),
    'activates-at': nullable.time.describe('from when it signs; null if it waits for its activation'),
    'retires-at': nullable.time.describe('from when another key signs in its place; null if none is scheduled'),
    'expires-at': nullable.time.describe('until when it stays published; null if no other key is scheduled'),
    actions: z.strictObject({
      'is-activatable': z.boolean().describe('whether `activate` makes it sign now'),
    }),
  },
})
export type IdentityKeyResource = Written<typeof identityKeySchema>

const activation = plainBody(
  'identity-keys',
  z.object({
    force: z
      .boolean()
      .default(false)
      .describe('activates the key even if it is not found at the address of an external issuer'),
  }),
)

/** May be absent. */
export const activateIdentityKeyBody = activation
  .nullish()
  .transform((body): ActivateIdentityKey => body?.data.attributes ?? { force: false })
export type ActivateIdentityKey = z.infer<typeof activation>['data']['attributes']

const issuerMeta = z.strictObject({
  url: z.string().describe('the `iss` of tokens'),
  'is-external': z
    .boolean()
    .describe(
      'whether the issuer has an address other than this server: its documents are exported, and a new key waits for its activation',
    ),
  'can-rotate': z.boolean().describe('false while a key is published that does not sign yet'),
})

const keyList = wholeListOf(identityKeySchema)
/** All published keys, the newest first. */
export const identityKeysDocument = keyList.extend({ meta: keyList.shape.meta.extend({ issuer: issuerMeta }) })

/** The OpenID Connect discovery document (OpenID Connect Discovery 1.0 §3), reduced to what verifiers of tokens read. */
export const openidConfiguration = z
  .strictObject({
    issuer: z.string(),
    jwks_uri: z.string(),
    response_types_supported: z.tuple([z.literal('id_token')]).readonly(),
    subject_types_supported: z.tuple([z.literal('public')]).readonly(),
    id_token_signing_alg_values_supported: z.tuple([z.literal('RS256')]).readonly(),
    scopes_supported: z.tuple([z.literal('openid')]).readonly(),
    claims_supported: z.array(z.string()).readonly(),
  })
  .meta({ id: 'OpenidConfiguration' })
export type OpenidConfiguration = Written<typeof openidConfiguration>

/** Public keys (RFC 7517 §5). */
export const publishedKeys = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('RSA'),
        use: z.literal('sig'),
        alg: z.literal('RS256'),
        kid: z.string(),
        n: z.string(),
        e: z.string(),
      }),
    ),
  })
  .meta({ id: 'PublishedKeys' })
export type PublishedKeys = Written<typeof publishedKeys>
