import { z } from 'zod'
import { type Written, linkedResource, nullable, resource } from './responses.ts'
import { userAttributes, userPermissions, userTokensRelation } from './users.ts'

export const twoFactorState = z.strictObject({
  enabled: z.boolean(),
  verified: z
    .boolean()
    .describe('the same as enabled: two-factor authentication is enabled once a code has been verified'),
})

export const unconfirmedEmail = nullable.string.describe(
  'the address that the user entered; takes effect once a site administrator sets it',
)

export const accountSchema = linkedResource('users', {
  name: 'Account',
  attributes: {
    ...userAttributes,
    email: nullable.string,
    'unconfirmed-email': unconfirmedEmail,
    'is-site-admin': z.boolean(),
    'is-admin': z.boolean().describe('the same as is-site-admin'),
    'is-sso-login': z.boolean(),
    'is-confirmed': z.boolean().describe('always true'),
    'two-factor': twoFactorState,
    'default-token-ttl': nullable.string.describe(
      'our own: lifetime of API tokens that are created without `expired-at`, such as `90d` or `2y`; null if they do not expire',
    ),
    permissions: userPermissions.extend({
      'can-create-organization': z.boolean().describe('the same as can-create-organizations'),
      'can-change-password': z.boolean(),
      'can-manage-sessions': z.boolean(),
      'can-manage-user-tokens': z.boolean(),
      'can-view2fa-settings': z.boolean(),
      'can-manage-hcp-account': z.boolean().describe('always false'),
    }),
  },
  relationships: userTokensRelation,
})
export type AccountResource = Written<typeof accountSchema>

export const twoFactorEnrollmentSchema = resource('two-factor', {
  name: 'TwoFactorEnrollment',
  attributes: {
    secret: z.string().describe('our own: the authenticator secret in base32; shown only once'),
    uri: z.string().describe('our own: the secret as an otpauth: URI, for a QR code'),
  },
})
export type TwoFactorEnrollmentResource = Written<typeof twoFactorEnrollmentSchema>

export const recoveryCodesSchema = resource('two-factor', {
  name: 'RecoveryCodes',
  attributes: {
    'recovery-codes': z
      .array(z.string())
      .describe('our own: each can be used once in place of a code from the authenticator; shown only once'),
  },
})
export type RecoveryCodesResource = Written<typeof recoveryCodesSchema>
