import { failureOf } from '../../api/queries.ts'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { AttributesForm } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type AccountAttributes, useSession } from '../session/session.ts'
import {
  useAccountSessions,
  useChangePassword,
  useEndSession,
  useSignOutEverywhere,
  useUpdateAccount,
} from './account.ts'
import { TwoFactor } from './two-factor.tsx'

export function AccountPage() {
  const { data: user } = useSession()
  // The frame shows pages only to signed-in users.
  if (!user) return null
  const account = user.attributes
  return (
    <Page title="Account">
      <div className="grid max-w-3xl gap-4">
        {account['is-sso-login'] ? (
          <Card title="Profile" about="Your name, email address and password are managed by your sign-in provider.">
            <DescriptionList
              facts={[
                ['Username', account.username],
                ['Email', account.email],
              ]}
            />
          </Card>
        ) : (
          <>
            <Profile account={account} />
            <Password />
            <TwoFactor enabled={account['two-factor'].enabled} />
          </>
        )}
        <Sessions />
      </div>
    </Page>
  )
}

function Profile({ account }: { account: AccountAttributes }) {
  const update = useUpdateAccount()
  const unconfirmed = account['unconfirmed-email']
  const shown = unconfirmed ?? account.email ?? ''

  function onSubmit({ username = '', email = '' }: Record<string, string>) {
    const changes = { ...(username !== account.username && { username }), ...(email !== shown && { email }) }
    if (Object.keys(changes).length > 0) update.mutate(changes, { onSuccess: () => toast({ text: 'Profile saved' }) })
  }

  return (
    <Card title="Profile">
      <AttributesForm
        fields={[
          {
            label: 'Username',
            name: 'username',
            autoComplete: 'username',
            defaultValue: account.username,
            required: true,
          },
          { label: 'Email', name: 'email', type: 'email', autoComplete: 'email', defaultValue: shown, required: true },
        ]}
        action="Save profile"
        mutation={update}
        onSubmit={onSubmit}
      />
      {update.isSuccess && <Done>Saved.</Done>}
      {unconfirmed !== null && (
        <p className="mt-3 text-dim">
          {unconfirmed} must be confirmed by an administrator. Until then, your address is {account.email}.
        </p>
      )}
    </Card>
  )
}

const passwordField = (label: string, name: string, autoComplete: 'current-password' | 'new-password') =>
  ({ label, name, type: 'password', autoComplete, required: true }) as const

function Password() {
  const change = useChangePassword()
  return (
    <Card title="Password" about="A new password signs you out of all other browsers. API tokens remain valid.">
      <AttributesForm
        fields={[
          passwordField('Current password', 'current_password', 'current-password'),
          passwordField('New password', 'password', 'new-password'),
          passwordField('Confirm new password', 'password_confirmation', 'new-password'),
        ]}
        action="Change password"
        mutation={change}
        onSubmit={(values, reset) => change.mutate(values, { onSuccess: reset })}
      />
      {change.isSuccess && <Done>Password changed.</Done>}
    </Card>
  )
}

function Done({ children }: { children: string }) {
  return (
    <p role="status" className="mt-3 text-good">
      {children}
    </p>
  )
}

function Sessions() {
  const sessions = useAccountSessions()
  const failure = failureOf(sessions)
  const end = useEndSession()
  const endAll = useSignOutEverywhere()
  return (
    <Card title="Sessions" about="Browsers where you are signed in. API tokens are managed separately.">
      {sessions.isPending && <Skeleton rows={2} />}
      {failure && <ErrorNote {...failure} />}
      <ul className="divide-y divide-line">
        {sessions.data?.map(({ id, attributes }) => (
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
          consequence="Ends all sessions, including this one. API tokens remain valid."
          action="Sign out everywhere"
          onConfirm={async () => endAll.mutateAsync()}
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
