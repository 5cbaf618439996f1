import { Link, getRouteApi } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { DocsLink } from '../../components/docs-link.tsx'
import { ErrorPage, Skeleton, loaded } from '../../components/feedback.tsx'
import { CODE_INPUT, TextField } from '../../components/form.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useSession } from '../session/session.ts'
import { TokensCard } from '../tokens/tokens-card.tsx'
import { AccountActions } from './account-actions.tsx'
import { SignInMethod, UserBadges } from './users-page.tsx'
import { type AdminUser, updateUser, useMemberships, useSignInMethod, useUser } from './users.ts'

const route = getRouteApi('/frame/app/admin/users/$user')

export function UserPage() {
  const { user: id } = route.useParams()
  const query = useUser(id)
  const { data: session } = useSession()
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="user" {...failure} />
  if (!query.data) return <Skeleton rows={8} />
  const user = query.data
  const isSelf = session?.id === id
  return (
    <Page
      title={user.attributes.username}
      badge={<UserBadges user={user} />}
      actions={<CopyCurl path={`/admin/users/${id}`} />}
    >
      <div className="grid gap-4">
        <Summary user={user} />
        <Profile user={user} />
        <Memberships userId={id} />
        <AccountActions user={user} isSelf={isSelf} />
        <TokensCard owner={{ kind: 'user', id, name: user.attributes.username }} mayManage />
        <Deletion user={user} isSelf={isSelf} />
      </div>
    </Page>
  )
}

function Summary({ user }: { user: AdminUser }) {
  const { attributes } = user
  const method = useSignInMethod(user)
  const { email, 'unconfirmed-email': unconfirmed, 'last-active-at': activeAt } = attributes
  const never: ReactNode = <span className="text-dim">never</span>
  return (
    <Card title="Account">
      <DescriptionList
        facts={[
          // The profile has the address of other accounts.
          ['Email', method === 'sso' ? (email ?? 'none') : undefined],
          ['Unconfirmed email', unconfirmed && <Unconfirmed user={user} address={unconfirmed} />],
          ['Sign-in', <SignInMethod key="sign-in" user={user} />],
          ['Last active', activeAt === null ? never : <RelativeTime at={activeAt} />],
          ['Created', <RelativeTime key="created" at={attributes['created-at']} />],
          [
            'ID',
            <span key="id" className="inline-flex items-center gap-1 font-mono">
              {user.id} <CopyButton text={user.id} label="Copy the ID" />
            </span>,
          ],
        ]}
      />
    </Card>
  )
}

function Unconfirmed({ user, address }: { user: AdminUser; address: string }) {
  return (
    <div className="space-y-2">
      <p>{address}</p>
      <Confirm
        kind="plain"
        size="small"
        label="Confirm address"
        title={`Confirm ${address}?`}
        consequence="Only do this if you know that the address belongs to this person: it can then be used to sign in, and accepts invitations."
        action="Confirm address"
        done="Address confirmed"
        onConfirm={async () => updateUser(user.id, { email: address })}
      />
    </div>
  )
}

function Profile({ user }: { user: AdminUser }) {
  const { username, email } = user.attributes
  const draft = useDraft({ username, email: email ?? '' })
  // The identity provider has the name and the address of the others.
  if (useSignInMethod(user) === 'sso') return null
  return (
    <SettingsForm
      title="Profile"
      names={['username', 'email']}
      draft={draft}
      done="Profile saved"
      onSave={async () => updateUser(user.id, draft.changed)}
    >
      <TextField label="Username" {...draft.text('username')} {...CODE_INPUT} />
      <TextField
        label="Email"
        type="email"
        hint="A new address counts as confirmed and accepts open invitations."
        {...draft.text('email')}
      />
    </SettingsForm>
  )
}

function Memberships({ userId }: { userId: string }) {
  const [page, setPage] = useState(1)
  const { data, fallback } = loaded(useMemberships(userId, page), { rows: 2 })
  if (!data) return <Card title="Organizations">{fallback}</Card>
  const { data: memberships } = data
  return (
    <Card title="Organizations" isFlush={memberships.length > 0}>
      {memberships.length === 0 && (
        <p className="text-dim">
          No organizations. An owner <DocsLink page="sign-in">invites</DocsLink> the address of the account.
        </p>
      )}
      <ul className="divide-y divide-line border-t border-line empty:hidden">
        {memberships.map(({ id, attributes }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
            <Link
              to="/app/admin/organizations/$name"
              params={{ name: attributes['organization-name'] }}
              className="font-medium hover:underline"
            >
              {attributes['organization-name']}
            </Link>
            {attributes.status === 'invited' && <Badge text="invited" />}
            {attributes['is-last-owner'] && <Badge tone="warn" text="only owner" />}
            <span className="ml-auto text-dim">
              {attributes.teams.map(({ name }) => name).join(', ') || 'no teams'}
            </span>
          </li>
        ))}
      </ul>
      <div className="px-4 pb-3 empty:hidden">
        <Pager pagination={data.meta.pagination} onPage={setPage} />
      </div>
    </Card>
  )
}

function Deletion({ user, isSelf }: { user: AdminUser; isSelf: boolean }) {
  const remove = useDeleteAndLeave()
  const { username } = user.attributes
  return (
    <Card
      title="Delete user"
      tone="bad"
      about="Deletes the account with its tokens and memberships. What it did stays in runs and audit trails. Suspend the account to keep it."
    >
      <Confirm
        icon={Trash2}
        label="Delete user"
        reason={isSelf ? 'another administrator can delete your account' : undefined}
        title={`Delete ${username}?`}
        consequence="This can’t be undone. The user is signed out, and programs with the user’s tokens stop working."
        typedName={username}
        action="Delete user"
        onConfirm={async () =>
          remove({
            path: `/admin/users/${user.id}`,
            name: username,
            target: { to: '/app/admin/users' },
            own: ['admin-users', user.id],
            affected: [['admin-users', 'list']],
          })
        }
      />
    </Card>
  )
}
