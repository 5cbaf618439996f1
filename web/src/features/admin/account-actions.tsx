import type { ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { useSignInMethods } from '../session/session.ts'
import { PasswordLink } from './password-link.tsx'
import { type AdminUser, actOnUser, useResetPassword, useSignInMethod } from './users.ts'

type ActionsProps = { user: AdminUser; isSelf: boolean }

/** An administrator's actions on an account. Users cannot lock themselves out. */
export function AccountActions({ user, isSelf }: ActionsProps) {
  const { username } = user.attributes
  const isAdmin = user.attributes['is-admin']
  const isSuspended = user.attributes['is-suspended']
  return (
    <Card title="Access" isFlush>
      <ul className="divide-y divide-line border-t border-line">
        <ResetPassword user={user} />
        {user.attributes['two-factor'].enabled && (
          <Row
            name="Two-factor authentication"
            text="For a user who has lost the authenticator and all recovery codes."
          >
            <Confirm
              size="small"
              label="Reset two-factor"
              title={`Reset two-factor authentication of ${username}?`}
              consequence="The password alone is then enough to sign in. All browsers of the user are signed out."
              action="Reset two-factor"
              done="Two-factor authentication reset"
              onConfirm={async () => actOnUser(user.id, 'disable_two_factor')}
            />
          </Row>
        )}
        <Row
          name="Administrator"
          text={isAdmin ? 'Administers this server.' : 'Has access only to organizations, by membership.'}
        >
          {isAdmin ? (
            <Confirm
              size="small"
              label="Revoke administrator"
              reason={isSelf ? 'another administrator can revoke your role' : undefined}
              title={`Revoke the administrator role of ${username}?`}
              consequence="The user can no longer administer accounts, organizations and sign-in. Memberships stay."
              action="Revoke administrator"
              done={`${username} is no longer an administrator`}
              onConfirm={async () => actOnUser(user.id, 'revoke_admin')}
            />
          ) : (
            <Confirm
              size="small"
              kind="plain"
              label="Make administrator"
              reason={isSuspended ? 'the account is suspended' : undefined}
              title={`Make ${username} an administrator?`}
              consequence="Administrators can sign in as any user with a token they create, and change sign-in for everyone."
              action="Make administrator"
              done={`${username} is an administrator`}
              onConfirm={async () => actOnUser(user.id, 'grant_admin')}
            />
          )}
        </Row>
        <Row
          name="Suspension"
          text={
            isSuspended ? 'Can’t sign in, and API tokens don’t work.' : 'Blocks the account and keeps everything else.'
          }
        >
          {isSuspended ? (
            <Confirm
              size="small"
              kind="plain"
              label="Unsuspend user"
              title={`Unsuspend ${username}?`}
              consequence="The user can sign in again, and API tokens work again."
              action="Unsuspend user"
              done={`${username} can sign in again`}
              onConfirm={async () => actOnUser(user.id, 'unsuspend')}
            />
          ) : (
            <Confirm
              size="small"
              label="Suspend user"
              reason={isSelf ? 'you can’t suspend your own account' : undefined}
              title={`Suspend ${username}?`}
              consequence="All browsers are signed out and API tokens stop working until the account is unsuspended. Running applies finish."
              action="Suspend user"
              done={`${username} is suspended`}
              onConfirm={async () => actOnUser(user.id, 'suspend')}
            />
          )}
        </Row>
      </ul>
    </Card>
  )
}

function ResetPassword({ user }: { user: AdminUser }) {
  const reset = useResetPassword(user.id)
  const { data: methods } = useSignInMethods()
  const method = useSignInMethod(user)
  const reason = user.attributes['is-suspended']
    ? 'the account is suspended'
    : methods?.password === false
      ? 'sign-in with a password is disabled on this server'
      : undefined
  return (
    <Row
      name="Password"
      text={
        method === 'sso'
          ? 'Signs in with the identity provider. With a password they could also sign in without it.'
          : method === 'none'
            ? 'The user has none yet, and sets it with a link. A new link replaces the earlier one.'
            : 'A link with which the user sets a new password. The current one works until then.'
      }
    >
      <Button
        size="small"
        label={method === 'none' ? 'Create link to set a password' : 'Create reset link'}
        reason={reason}
        isPending={reset.isPending}
        onClick={() => reset.mutate()}
      />
      {reset.error && <ErrorNote error={reset.error} />}
      {reset.data && (
        <div className="min-w-0 basis-full">
          <PasswordLink reset={reset.data.data} />
        </div>
      )}
    </Row>
  )
}

function Row({ name, text, children }: { name: string; text: string; children: ReactNode }) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-60">
        <h3 className="font-medium">{name}</h3>
        <p className="text-dim">{text}</p>
      </div>
      {children}
    </li>
  )
}
