import type { passwordResetSchema } from '@groundstate/contract/password-resets'
import type { Wire } from '@groundstate/contract/responses'
import { Secret } from '../../components/secret.tsx'
import { RelativeTime } from '../../components/time.tsx'

/** A one-time link to set a password. */
export function PasswordLink({ reset: { attributes } }: { reset: Wire<typeof passwordResetSchema> }) {
  return (
    <Secret kind="link" text={attributes.url}>
      It works once and expires <RelativeTime at={attributes['expires-at']} />.
      {attributes['mailed-to'] !== null && ` It was also sent to ${attributes['mailed-to']}.`}
    </Secret>
  )
}
