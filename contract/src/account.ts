import { z } from 'zod'
import { type Written, resource } from './responses.ts'
import { userAttributes, userPermissions, userTokensRelation } from './users.ts'

/** Whether an account has two-factor authentication. */
export const twoFactorState = z.strictObject({
  enabled: z.boolean(),
  verified: z.boolean().describe('the same as enabled: two-factor authentication is enabled once a code was verified'),
})

/** An e-mail address that is not confirmed yet. */
export const unconfirmedEmail = z
  .string()
  .nullable()
  .describe('an address that the user gave; it takes effect once a site administrator sets it')

export const accountSchema = resource(
  'users',
  {
    attributes: {
      ...userAttributes,
      email: z.string().nullable(),
      'unconfirmed-email': unconfirmedEmail,
      'is-site-admin': z.boolean(),
      'is-admin': z.boolean().describe('the same as is-site-admin'),
      'is-sso-login': z.boolean(),
      'is-confirmed': z.boolean().describe('always true'),
      'two-factor': twoFactorState,
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
    links: { self: z.string() },
  },
  'Account',
)
export type AccountResource = Written<typeof accountSchema>

export const twoFactorEnrollmentSchema = resource(
  'two-factor',
  {
    attributes: {
      secret: z.string().describe('our own: the secret of the authenticator, in base32, shown only this time'),
      uri: z.string().describe('our own: the secret as an otpauth: address, to show as a QR code'),
    },
  },
  'TwoFactorEnrollment',
)
export type TwoFactorEnrollmentResource = Written<typeof twoFactorEnrollmentSchema>

export const recoveryCodesSchema = resource(
  'two-factor',
  {
    attributes: {
      'recovery-codes': z
        .array(z.string())
        .describe('our own: each replaces a code of the authenticator once; shown only this time'),
    },
  },
  'RecoveryCodes',
)
export type RecoveryCodesResource = Written<typeof recoveryCodesSchema>
