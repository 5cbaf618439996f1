import { forbidden } from '../errors.ts'

const SIGN_IN_REQUIREMENTS = {
  'two-factor': 'this organization requires two-factor authentication: enable it in your account settings',
  'new-session':
    'your session is too old for this organization, or was unused for too long: sign out, and sign in again',
} as const

export type SignInRequirement = keyof typeof SIGN_IN_REQUIREMENTS

/**
 * Throws `forbidden` with instructions for a member who does not meet the organization's sign-in policy: two-factor authentication and a
 * recent session. Single sign-on accounts need no two-factor authentication, API tokens have no session, and team and organization tokens need
 * neither. Where a guard does not call this, such a member can only see the resource.
 */
export function checkSignInPolicy({ signInRequirement }: { signInRequirement?: SignInRequirement | undefined }) {
  if (signInRequirement) throw forbidden(SIGN_IN_REQUIREMENTS[signInRequirement])
}
