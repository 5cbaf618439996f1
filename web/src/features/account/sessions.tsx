import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { Badge } from '../../components/status.tsx'
import { Ago } from '../../components/time.tsx'
import { useAccountSessions, useEndSession, useSignOutEverywhere } from './account.ts'

export function Sessions() {
  const sessions = useAccountSessions()
  const end = useEndSession()
  const endAll = useSignOutEverywhere()
  return (
    <Card title="Sessions" about="The browsers that you are signed in with. API tokens are none of them.">
      {sessions.isPending && <Skeleton />}
      {sessions.error && <ErrorNote error={sessions.error} />}
      {end.error && <ErrorNote error={end.error} />}
      {endAll.error && <ErrorNote error={endAll.error} />}
      <ul className="mt-3 divide-y divide-line">
        {sessions.data?.map(({ id, attributes }) => (
          <li key={id} className="flex items-center gap-4 py-3">
            <div className="min-w-0">
              <p className="truncate" title={attributes['user-agent'] ?? undefined}>
                {attributes['user-agent'] ?? 'an unknown browser'}
              </p>
              <p className="text-dim">
                {attributes.address !== null && `from ${attributes.address}, `}
                signed in <Ago at={attributes['created-at']} />, last used <Ago at={attributes['last-used-at']} />
              </p>
            </div>
            <div className="ml-auto">
              {attributes['is-current'] ? (
                <Badge tone="good">this browser</Badge>
              ) : (
                <Button kind="danger" isPending={end.isPending} onClick={() => end.mutate(id)}>
                  End
                </Button>
              )}
            </div>
          </li>
        ))}
      </ul>
      <Button
        kind="danger"
        className="mt-4"
        isPending={endAll.isPending}
        onClick={() => {
          if (window.confirm('Sign out everywhere, here too?')) endAll.mutate()
        }}
      >
        Sign out everywhere
      </Button>
    </Card>
  )
}
