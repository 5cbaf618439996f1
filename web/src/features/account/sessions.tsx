import { Button } from '../../components/button.tsx'
import { Badge, ErrorNote, Loading } from '../../components/feedback.tsx'
import { Section } from '../../components/section.tsx'
import { Ago } from '../../components/time.tsx'
import { useAccountSessions, useEndSession, useSignOutEverywhere } from './account.ts'

export function Sessions() {
  const sessions = useAccountSessions()
  const end = useEndSession()
  const endAll = useSignOutEverywhere()
  return (
    <Section title="Sessions" about="The browsers that you are signed in with. API tokens are none of them.">
      {sessions.isPending && <Loading />}
      {sessions.error && <ErrorNote error={sessions.error} />}
      {end.error && <ErrorNote error={end.error} />}
      {endAll.error && <ErrorNote error={endAll.error} />}
      <ul className="mt-3 divide-y divide-slate-200 dark:divide-slate-800">
        {sessions.data?.map(({ id, attributes }) => (
          <li key={id} className="flex items-center gap-4 py-3">
            <div className="min-w-0">
              <p className="truncate" title={attributes['user-agent'] ?? undefined}>
                {attributes['user-agent'] ?? 'an unknown browser'}
              </p>
              <p className="text-slate-500">
                {attributes.address !== null && `from ${attributes.address}, `}
                signed in <Ago at={attributes['created-at']} />, last used <Ago at={attributes['last-used-at']} />
              </p>
            </div>
            <div className="ml-auto">
              {attributes['is-current'] ? (
                <Badge tone="good">this browser</Badge>
              ) : (
                <Button kind="danger" disabled={end.isPending} onClick={() => end.mutate(id)}>
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
        disabled={endAll.isPending}
        onClick={() => {
          if (window.confirm('Sign out everywhere, here too?')) endAll.mutate()
        }}
      >
        Sign out everywhere
      </Button>
    </Section>
  )
}
