import { MailQuestion, ShieldCheck, ShieldOff } from 'lucide-react'
import { Badge, StatusText } from '../../components/status.tsx'
import { RelativeTime, useNow } from '../../components/time.tsx'
import type { Member } from './members.ts'

/** "invited" with the expiry of the link; nothing for a member. */
export function InvitedBadge({ member: { attributes } }: { member: Member }) {
  const now = useNow()
  if (attributes.status !== 'invited') return null
  const expiresAt = attributes['invitation-expires-at']
  const isExpired = expiresAt === null || Date.parse(expiresAt) <= now
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Badge tone="accent" icon={MailQuestion} text="invited" />
      <span className="text-dim">
        {isExpired || expiresAt === null ? (
          'no valid link'
        ) : (
          <>
            expires <RelativeTime at={expiresAt} />
          </>
        )}
      </span>
    </span>
  )
}

/** Whether an account has two-factor authentication, where the user may see it. */
export function TwoFactorStatus({ member: { attributes } }: { member: Member }) {
  const isEnabled = attributes['has-two-factor']
  if (isEnabled === null) return <span className="text-dim">–</span>
  if (isEnabled) return <StatusText tone="good" icon={ShieldCheck} text="on" />
  return <StatusText tone={attributes['is-org-two-factor-required'] ? 'bad' : 'quiet'} icon={ShieldOff} text="off" />
}
