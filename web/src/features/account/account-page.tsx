import { Card, DescriptionList } from '../../components/card.tsx'
import { AttributesForm } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { type AccountAttributes, useSession } from '../session/session.ts'
import { useChangePassword, useUpdateAccount } from './account.ts'
import { Sessions } from './sessions.tsx'
import { TwoFactor } from './two-factor.tsx'

export function AccountPage() {
  const { data: user } = useSession()
  // The frame shows pages to signed-in users only.
  if (!user) return null
  const account = user.attributes
  return (
    <Page title="Account">
      <div className="grid max-w-3xl gap-4">
        {account['is-sso-login'] ? (
          <ForeignProfile account={account} />
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

function ForeignProfile({ account }: { account: AccountAttributes }) {
  return (
    <Card title="Profile" about="Your name, address and password are kept by the service that you sign in with.">
      <DescriptionList
        facts={[
          ['Username', account.username],
          ['Email', account.email],
        ]}
      />
    </Card>
  )
}

function Profile({ account }: { account: AccountAttributes }) {
  const update = useUpdateAccount()
  const claimed = account['unconfirmed-email']
  const shown = claimed ?? account.email ?? ''

  function onSubmit({ username = '', email = '' }: Record<string, string>) {
    const changes = {
      ...(username !== account.username && { username }),
      ...(email !== shown && { email }),
    }
    if (Object.keys(changes).length === 0) return
    update.mutate(changes, { onSuccess: () => toast({ text: 'The profile is saved' }) })
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
          {
            label: 'Email',
            name: 'email',
            type: 'email',
            autoComplete: 'email',
            defaultValue: shown,
            required: true,
          },
        ]}
        action="Save profile"
        error={update.error}
        isPending={update.isPending}
        onSubmit={onSubmit}
      />
      {update.isSuccess && <Done>Saved.</Done>}
      {claimed !== null && (
        <p className="mt-3 text-dim">
          {claimed} waits for an administrator to confirm it; until then {account.email} is yours.
        </p>
      )}
    </Card>
  )
}

function Password() {
  const change = useChangePassword()
  return (
    <Card title="Password" about="A new one signs you out everywhere but here. API tokens stay.">
      <AttributesForm
        fields={[
          {
            label: 'Current password',
            name: 'current_password',
            type: 'password',
            autoComplete: 'current-password',
            required: true,
          },
          { label: 'New password', name: 'password', type: 'password', autoComplete: 'new-password', required: true },
          {
            label: 'New password again',
            name: 'password_confirmation',
            type: 'password',
            autoComplete: 'new-password',
            required: true,
          },
        ]}
        action="Change password"
        error={change.error}
        isPending={change.isPending}
        onSubmit={(values, reset) => change.mutate(values, { onSuccess: reset })}
      />
      {change.isSuccess && <Done>The password is changed.</Done>}
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
