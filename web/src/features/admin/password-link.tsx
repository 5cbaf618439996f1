import type { passwordResetSchema } from '@groundstate/contract/password-resets'
import type { Wire } from '@groundstate/contract/responses'
import { CodeBlock } from '../../components/copy.tsx'
import { Notice } from '../../components/feedback.tsx'
import { RelativeTime } from '../../components/time.tsx'

/** A one-time link to set a password, which cannot be shown again. */
export function PasswordLink({ reset: { attributes } }: { reset: Wire<typeof passwordResetSchema> }) {
  return (
    <Notice tone="good" role="status">
      <p className="mb-2">
        Copy the link now: it is shown only once. It works once and expires{' '}
        <RelativeTime at={attributes['expires-at']} />.
        {attributes['mailed-to'] !== null && ` It was also sent to ${attributes['mailed-to']}.`}
      </p>
      <CodeBlock label="the link" code={attributes.url} />
    </Notice>
  )
}
