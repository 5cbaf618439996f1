import { failureOf } from '../../api/queries.ts'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useAccountSessions, useEndSession, useSignOutEverywhere } from './account.ts'

export function Sessions() {
  const sessions = useAccountSessions()
  const failure = failureOf(sessions)
  const end = useEndSession()
  const endAll = useSignOutEverywhere()
  return (
    <Card title="Sessions" about="The browsers that you are signed in with. API tokens are none of them.">
      {sessions.isPending && <Skeleton rows={2} />}
      {failure && <ErrorNote {...failure} />}
      <ul className="divide-y divide-line">
        {sessions.data?.map(({ id, attributes }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-2 py-3">
            <div className="min-w-0 flex-1">
              <p className="truncate" title={attributes['user-agent'] ?? undefined}>
                {browserOf(attributes['user-agent'])}
              </p>
              <p className="text-dim">
                {attributes.address !== null && `from ${attributes.address}, `}
                signed in <RelativeTime at={attributes['created-at']} />, last used{' '}
                <RelativeTime at={attributes['last-used-at']} />
              </p>
            </div>
            {attributes['is-current'] ? (
              <Badge tone="good">this browser</Badge>
            ) : (
              <Confirm
                label="End"
                size="small"
                title="End this session?"
                consequence="That browser has to sign in again."
                action="End the session"
                onConfirm={async () => end.mutateAsync(id)}
              />
            )}
          </li>
        ))}
      </ul>
      <div className="mt-3">
        <Confirm
          label="Sign out everywhere"
          title="Sign out everywhere?"
          consequence="All of these sessions end, this one too. API tokens stay."
          action="Sign out everywhere"
          onConfirm={async () => endAll.mutateAsync()}
        />
      </div>
    </Card>
  )
}

const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** "Firefox on Linux"; the header itself when it names no browser that we know. */
export function browserOf(userAgent: string | null) {
  if (userAgent === null) return 'an unknown browser'
  const browser = BROWSERS.find(([mark]) => userAgent.includes(mark))?.[1]
  const system = SYSTEMS.find(([mark]) => userAgent.includes(mark))?.[1]
  if (browser === undefined) return userAgent
  return system === undefined ? browser : `${browser} on ${system}`
}
