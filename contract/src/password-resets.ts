import { z } from 'zod'
import { plainBody } from './json-api.ts'
import { type Written, nullable, resource, timestamp } from './responses.ts'
import { newPassword } from './users.ts'

/** The secret of a one-time link: the part of its URL after the `#`. */
export const linkSecret = z.string().min(1).max(200)

export const requestPasswordResetBody = plainBody(
  'password-resets',
  z.object({ username: z.string().min(1).max(254).describe('the name or e-mail address of an account') }),
)
export const showPasswordResetBody = plainBody('password-resets', z.object({ secret: linkSecret }))
export const setPasswordBody = plainBody('password-resets', z.object({ secret: linkSecret, password: newPassword }))
export type SetPassword = z.infer<typeof setPasswordBody>['data']['attributes']

/** A one-time link to set a password, shown once. */
export const passwordResetSchema = resource('password-resets', {
  attributes: {
    url: z.string().describe('our own: the link for the user; it works once'),
    'expires-at': timestamp,
    'mailed-to': nullable.string.describe('our own: the address to which the link was sent too; null without mail'),
  },
})
export type PasswordResetResource = Written<typeof passwordResetSchema>

/** A password reset as shown to the holder of its link. */
export const openPasswordResetSchema = resource('password-resets', {
  name: 'OpenPasswordReset',
  attributes: { username: z.string(), 'expires-at': timestamp },
})
export type OpenPasswordResetResource = Written<typeof openPasswordResetSchema>
