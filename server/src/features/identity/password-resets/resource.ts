import type { PasswordResetResource } from '@groundstate/contract/password-resets'

export type PasswordReset = { userId: string; url: string; expiresAt: Date; mailedTo: string | null }

export function passwordResetResource({ userId, url, expiresAt, mailedTo }: PasswordReset): PasswordResetResource {
  return {
    id: userId,
    type: 'password-resets',
    attributes: { url, 'expires-at': expiresAt, 'mailed-to': mailedTo },
  }
}
