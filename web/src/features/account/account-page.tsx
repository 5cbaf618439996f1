import { type ReactNode, useMemo } from 'react'
import { encode } from 'uqr'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { loaded } from '../../components/feedback.tsx'
import { AttributesForm } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type AccountAttributes, useSession } from '../session/session.ts'
import {
  endSession,
  signOutEverywhere,
  useAccountSessions,
  useChangePassword,
  useTwoFactor,
  useUpdateAccount,
} from './account.ts'

const passwordField = (label: string, name: string, autoComplete: 'current-password' | 'new-password') =>
  ({ label, name, type: 'password', autoComplete, required: true }) as const

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

const PASSWORD = passwordField('Password', 'password', 'current-password')
const CODE = {
  label: 'Authenticator code',
  name: 'otp',
  autoComplete: 'one-time-code',
  autoCapitalize: 'none',
  required: true,
} as const
const ANY_CODE = { ...CODE, label: 'Authenticator or recovery code' }

function TwoFactor({ enabled }: { enabled: boolean }) {
  const { enroll, verify, renew, disable } = useTwoFactor()
  const codes = (renew.data ?? verify.data)?.['recovery-codes']
  return (
    <Card
      title="Two-factor authentication"
      about="Signing in with your password then also requires a code from an authenticator app."
      actions={<Badge tone={enabled ? 'good' : 'quiet'} text={enabled ? 'enabled' : 'disabled'} />}
    >
      <div className="space-y-4">
        {codes && <RecoveryCodes codes={codes} />}
        {!enabled && !enroll.data && (
          <AttributesForm fields={[PASSWORD]} action="Set up two-factor authentication" mutation={enroll} />
        )}
        {!enabled && enroll.data && (
          <>
            <Enrollment {...enroll.data} />
            <AttributesForm fields={[CODE]} action="Enable" kind="primary" mutation={verify} />
          </>
        )}
        {enabled && (
          <>
            <Fold title="New recovery codes">
              <AttributesForm fields={[PASSWORD, ANY_CODE]} action="Replace recovery codes" mutation={renew} />
            </Fold>
            <Fold title="Disable">
              <AttributesForm
                fields={[PASSWORD, ANY_CODE]}
                action="Disable two-factor authentication"
                kind="danger"
                mutation={disable}
              />
            </Fold>
          </>
        )}
      </div>
    </Card>
  )
}

function Enrollment({ secret, uri }: { secret: string; uri: string }) {
  return (
    <div className="grid items-center gap-4 sm:grid-cols-[auto_1fr]">
      <QrCode text={uri} label="The secret as a QR code" />
      <div className="space-y-3">
        <p>Scan this code with your authenticator app, then enter the code it displays.</p>
        <p>
          Can’t scan it? Enter this secret in the app as a time-based key:
          <span className="mt-1 flex items-center gap-1">
            <code aria-label="Secret" className="tracking-wide select-all">
              {secret.match(/.{1,4}/g)?.join(' ')}
            </code>
            <CopyButton text={secret} label="Copy the secret" />
          </span>
        </p>
        <p>
          <a href={uri} className="text-accent underline">
            Open an app on this device
          </a>
        </p>
      </div>
    </div>
  )
}

/** Dark on light in both themes, as scanners require. */
function QrCode({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => {
    const { data, size: modules } = encode(text, { border: 2 })
    const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    return { size: modules, path: squares.join('') }
  }, [text])
  return (
    <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} className="size-44 rounded-md bg-white">
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  )
}

function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  return (
    <div role="status" className="max-w-md rounded-md border border-good/30 bg-good-soft px-4 py-3">
      <p>
        Save these recovery codes now: they are shown only once. Each of them replaces an authenticator code one time.
      </p>
      <ul aria-label="Recovery codes" className="mt-2 grid grid-cols-2 gap-1 font-mono select-all">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="mt-2">
        <CopyButton text={codes.join('\n')} label="Copy the recovery codes" isIcon={false} />
      </div>
    </div>
  )
}

function Fold({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details>
      <summary className="font-medium">{title}</summary>
      <div className="mt-3">{children}</div>
    </details>
  )
}

function Sessions() {
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
