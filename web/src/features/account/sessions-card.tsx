import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { loaded } from '../../components/feedback.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { endSession, signOutEverywhere, useAccountSessions } from './account.ts'

export function SessionsCard() {
  const { data: sessions, fallback } = loaded(useAccountSessions(), { rows: 2 })
  return (
    <Card title="Sessions" about="Browsers where you are signed in. API tokens are managed separately.">
      {!sessions && fallback}
      <ul className="divide-y divide-line">
        {sessions?.map(({ id, attributes }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-2 py-3">
            <div className="min-w-0 flex-1">
              <p className="truncate" title={attributes['user-agent'] ?? undefined}>
                {browserName(attributes['user-agent'])}
              </p>
              <p className="text-dim">
                {attributes.address !== null && `from ${attributes.address}, `}
                signed in <RelativeTime at={attributes['created-at']} />, last used{' '}
                <RelativeTime at={attributes['last-used-at']} />
              </p>
            </div>
            {attributes['is-current'] ? (
              <Badge tone="good" text="this browser" />
            ) : (
              <Confirm
                label="End session"
                size="small"
                title="End this session?"
                consequence="That browser will have to sign in again."
                action="End session"
                onConfirm={async () => endSession(id)}
              />
            )}
          </li>
        ))}
      </ul>
      <div className="mt-3">
        <Confirm
          label="Sign out everywhere"
          title="Sign out everywhere?"
          consequence="Ends all sessions, including this one. API tokens remain valid."
          action="Sign out everywhere"
          onConfirm={signOutEverywhere}
        />
      </div>
    </Card>
  )
}

const BROWSERS = { 'Edg/': 'Edge', 'OPR/': 'Opera', 'Firefox/': 'Firefox', 'Chrome/': 'Chrome', 'Safari/': 'Safari' }
const SYSTEMS = {
  Android: 'Android',
  iPhone: 'iPhone',
  iPad: 'iPad',
  Windows: 'Windows',
  'Mac OS X': 'macOS',
  Linux: 'Linux',
}

/** "Firefox on Linux"; the header itself for an unknown browser. */
function browserName(userAgent: string | null) {
  if (userAgent === null) return 'an unknown browser'
  const find = (names: Record<string, string>) => Object.entries(names).find(([mark]) => userAgent.includes(mark))?.[1]
  const browser = find(BROWSERS)
  const system = find(SYSTEMS)
  if (browser === undefined) return userAgent
  return system === undefined ? browser : `${browser} on ${system}`
}
