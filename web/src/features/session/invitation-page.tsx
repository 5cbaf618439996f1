import type { openInvitationSchema } from '@groundstate/contract/invitations'
import type { Wire } from '@groundstate/contract/responses'
import type { FormEvent } from 'react'
import { serverPath } from '../../api/base.ts'
import { ApiError, isNotFound } from '../../api/client.ts'
import { failureOf } from '../../api/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { CODE_INPUT, FormErrors, TextField, fieldError, formValues } from '../../components/form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { CardPage } from './card-page.tsx'
import {
  useAcceptInvitation,
  useInvitation,
  useInvitationSecret,
  useRegister,
  useSwitchAccount,
} from './one-time-links.ts'
import { NewPasswordField, SignInLink } from './reset-password-page.tsx'
import { useSession, useSignInMethods } from './session.ts'
import { SsoLink } from './sign-in-page.tsx'

type Invitation = Wire<typeof openInvitationSchema>['attributes']
type StepProps = { invitation: Invitation; secret: string | undefined }

/** Path to return to after signing in; the secret is kept in the tab. */
const HERE = '/app/invitation'

export function InvitationPage() {
  const secret = useInvitationSecret()
  const { data: invitation, ...query } = useInvitation(secret)
  const session = useSession()
  const failure = failureOf({ ...query, data: invitation }, session)
  if (secret === undefined || isNotFound(query.error)) return <InvalidInvitation isIncomplete={secret === undefined} />
  if (failure || !invitation || session.data === undefined) {
    return <CardPage title="Invitation">{failure ? <ErrorNote {...failure} /> : <Skeleton rows={4} />}</CardPage>
  }
  const { 'organization-name': organization, email, 'expires-at': expiresAt } = invitation
  const about = (
    <>
      You are invited to this organization as <span className="text-ink wrap-anywhere">{email}</span>. The invitation
      expires <RelativeTime at={expiresAt} />.
    </>
  )
  return (
    <CardPage title={`Join ${organization}`} about={about}>
      {session.data ? (
        <AcceptAs username={session.data.attributes.username} invitation={invitation} secret={secret} />
      ) : (
        <NewAccount invitation={invitation} secret={secret} />
      )}
    </CardPage>
  )
}

function InvalidInvitation({ isIncomplete }: { isIncomplete: boolean }) {
  return (
    <CardPage
      title="The invitation is invalid"
      about={
        isIncomplete
          ? 'The link is incomplete: copy all of it, including what follows the #.'
          : 'It has expired, was accepted already, or was replaced or withdrawn.'
      }
    >
      <p>Ask the person who invited you for a new link.</p>
      <SignInLink text="Go to sign-in" />
    </CardPage>
  )
}

function open(organization: string) {
  window.location.assign(serverPath(`/app/${organization}`))
}

function AcceptAs({ username, invitation, secret }: StepProps & { username: string }) {
  const { 'organization-name': organization } = invitation
  const accept = useAcceptInvitation(secret)
  const switchAccount = useSwitchAccount()
  const isMember = accept.error instanceof ApiError && accept.error.status === 409
  return (
    <>
      {accept.error && <ErrorNote error={accept.error} />}
      {isMember ? (
        <Button
          label={`Open ${organization}`}
          kind="primary"
          size="large"
          className="w-full"
          onClick={() => open(organization)}
        />
      ) : (
        <Button
          label={`Join as ${username}`}
          kind="primary"
          size="large"
          className="w-full"
          isPending={accept.isPending}
          onClick={() => accept.mutate(undefined, { onSuccess: () => open(organization) })}
        />
      )}
      <Button
        label="Use another account"
        size="large"
        className="w-full"
        isPending={switchAccount.isPending}
        onClick={() => switchAccount.mutate()}
      />
    </>
  )
}

function NewAccount({ invitation, secret }: StepProps) {
  const { data: methods } = useSignInMethods()
  if (!methods) return <Skeleton rows={3} />
  return (
    <>
      {methods.password && <RegisterForm invitation={invitation} secret={secret} />}
      {methods.password && <p className="text-center text-dim">or with an account that you have</p>}
      {methods.sso && <SsoLink {...methods.sso} target={serverPath(HERE)} action="Continue" />}
      {methods.password && (
        <TargetLink
          leadsTo={{ to: '/app/sign-in', search: { next: HERE } }}
          className={`${buttonClass({ size: 'large' })} w-full`}
        >
          Sign in to accept
        </TargetLink>
      )}
    </>
  )
}

function RegisterForm({ invitation, secret }: StepProps) {
  const register = useRegister(secret)
  const { email, 'organization-name': organization, 'confirms-email': confirmsEmail } = invitation
  function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    register.mutate(formValues(event.currentTarget), { onSuccess: () => open(organization) })
  }
  return (
    <form onSubmit={onSubmit} className="space-y-4">
      <TextField
        label="Username"
        name="username"
        defaultValue={email.replace(/@.*/, '').replaceAll(/[^\w.-]/g, '-')}
        hint={confirmsEmail ? 'Shown to other members.' : 'Sign in with this name: your address is not confirmed yet.'}
        error={fieldError(register.error, 'username')}
        maxLength={60}
        required
        {...CODE_INPUT}
        autoComplete="username"
      />
      <NewPasswordField error={fieldError(register.error, 'password')} />
      <FormErrors error={register.error} names={['username', 'password']} />
      <Button
        label="Create account and join"
        type="submit"
        kind="primary"
        size="large"
        className="w-full"
        isPending={register.isPending}
      />
    </form>
  )
}
