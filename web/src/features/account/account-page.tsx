import { Card, DescriptionList } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { AttributesForm } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Page } from '../../components/page.tsx'
import { type AccountAttributes, useSession } from '../session/session.ts'
import { passwordField, useChangePassword, useUpdateAccount } from './account.ts'
import { AvatarCard } from './avatar-card.tsx'
import { SessionsCard } from './sessions-card.tsx'
import { TwoFactorCard } from './two-factor-card.tsx'

export function AccountPage() {
  const { data: user } = useSession()
  // The frame shows pages only to signed-in users.
  if (!user) return null
  const account = user.attributes
  return (
    <Page title="Profile" actions={<CopyCurl path="/account/details" />}>
      <div className="grid gap-4">
        <AvatarCard url={account['avatar-url']} />
        {account['is-sso-login'] ? (
          <Card
            title="Name and email"
            about="Your name, email address and password are managed by your sign-in provider."
          >
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
            <TwoFactorCard enabled={account['two-factor'].enabled} />
          </>
        )}
        <SessionsCard />
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
    if (Object.keys(changes).length > 0)
      update.mutate(changes, { onSuccess: () => toast({ text: 'Name and email saved' }) })
  }

  return (
    <Card title="Name and email">
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
        action="Save"
        kind="primary"
        mutation={update}
        onSubmit={onSubmit}
      />
      {update.isSuccess && <Done>Saved.</Done>}
      {unconfirmed !== null && (
        <p className="mt-3 text-dim">
          {unconfirmed} must be confirmed by an administrator.{' '}
          {account.email === null
            ? 'Until then, sign in with your username.'
            : `Until then, your address is ${account.email}.`}
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
        kind="primary"
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
