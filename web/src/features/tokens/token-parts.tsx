import { CircleX, TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { CodeBlock } from '../../components/copy.tsx'
import { Notice } from '../../components/feedback.tsx'
import { SelectField } from '../../components/form.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime, exactTime, relativeTime } from '../../components/time.tsx'
import { expiryState } from './tokens.ts'

const LIFETIMES = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
  ['', 'No expiry'],
] as const

export function ExpiryField() {
  return <SelectField label="Expires after" name="days" defaultValue="90" options={LIFETIMES} />
}

/** The text of a new token, which the server does not show again. */
export function Secret({ secret, actions, children }: { secret: string; actions?: ReactNode; children?: ReactNode }) {
  return (
    <Notice tone="good" role="status">
      <p className="mb-2">Copy the token now: it is shown only once.</p>
      <CodeBlock label="the token" code={secret} />
      {children}
      {actions !== undefined && <div className="mt-3 flex flex-wrap gap-2">{actions}</div>}
    </Notice>
  )
}

export function Expiry({ at }: { at: string | null }) {
  // Read once: a token that expires while the page is open is marked on the next visit.
  const [now] = useState(() => Date.now())
  const state = expiryState(at, now)
  if (at === null) return <span className="text-dim">never</span>
  if (state === 'later') return <RelativeTime at={at} />
  if (state === 'expired') return <Badge tone="bad" icon={CircleX} title={exactTime(at)} text="expired" />
  return <Badge tone="warn" icon={TriangleAlert} title={exactTime(at)} text={relativeTime(Date.parse(at) - now)} />
}

export function LastUsed({ at }: { at: string | null }) {
  return at === null ? <span className="text-dim">never</span> : <RelativeTime at={at} />
}
