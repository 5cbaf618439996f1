import { CircleX, TriangleAlert } from 'lucide-react'
import { SelectField } from '../../components/form.tsx'
import { Badge } from '../../components/status.tsx'
import { exactTime, RelativeTime, relativeTime, useNow } from '../../components/time.tsx'
import { useSession } from '../session/session.ts'
import { expiryState, ttlText } from './tokens.ts'

const LIFETIMES = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
] as const

/** The empty value is the server's default. */
export function ExpiryField() {
  const ttl = useSession().data?.attributes['default-token-ttl'] ?? null
  const preset = ['', ttl === null ? 'No expiry' : `${ttlText(ttl)} (default)`] as const
  return <SelectField label="Expires after" name="days" defaultValue="90" options={[...LIFETIMES, preset]} />
}

export function Expiry({ at }: { at: string | null }) {
  const now = useNow()
  const state = expiryState(at, now)
  if (at === null) return <span className="text-dim">never</span>
  if (state === 'later') return <RelativeTime at={at} />
  if (state === 'expired') return <Badge tone="bad" icon={CircleX} title={exactTime(at)} text="expired" />
  return <Badge tone="warn" icon={TriangleAlert} title={exactTime(at)} text={relativeTime(Date.parse(at) - now)} />
}

export function LastUsed({ at }: { at: string | null }) {
  return at === null ? <span className="text-dim">never</span> : <RelativeTime at={at} />
}
