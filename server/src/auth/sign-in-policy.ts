import { forbidden } from '../errors.ts'

const SIGN_IN_REQUIREMENTS = {
  'two-factor': 'this organization demands two-factor authentication: enable it in your account settings',
  'new-session':
    'your session is too old for this organization, or was unused for too long: sign out, and sign in again',
} as const

/** Sign-in requirements of an organization. */
export type SignInRequirement = keyof typeof SIGN_IN_REQUIREMENTS

/**
 * Refuses a member who has not signed in as the organization demands, and says what to do: with two-factor authentication, and
 * recently enough. Accounts that sign in with another service need no two-factor authentication. The tokens of teams and
 * organizations need neither, and API tokens have no session. A guard that does not call this leaves such a member the
 * permission to see the resource, and no other.
 */
export function checkSignInPolicy({ signInRequirement }: { signInRequirement?: SignInRequirement | undefined }) {
  if (signInRequirement) throw forbidden(SIGN_IN_REQUIREMENTS[signInRequirement])
}
