import { PASSWORD_MIN } from '@groundstate/contract/limits'
import type { FormEvent } from 'react'
import { isNotFound } from '../../api/client.ts'
import { failureOf } from '../../api/queries.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { FormErrors, TextField, fieldError, formValues } from '../../components/form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { CardPage } from './card-page.tsx'
import { useLinkSecret, usePasswordReset, useSetPassword } from './one-time-links.ts'
import { useSignInMethods } from './session.ts'

export function ResetPasswordPage() {
  const secret = useLinkSecret()
  const reset = usePasswordReset(secret)
  const change = useSetPassword(secret)
  const failure = failureOf(reset)
  if (secret === undefined)
    return <InvalidLink detail="The link is incomplete: copy all of it, including what follows the #." />
  if (isNotFound(reset.error))
    return <InvalidLink detail="It has expired, was used already, or was replaced by a newer one." />
  if (failure) {
    return (
      <CardPage title="Set a new password">
        <ErrorNote {...failure} />
      </CardPage>
    )
  }
  if (change.isSuccess) {
    return (
      <CardPage title="Password set">
        <Notice tone="good" role="status">
          All sessions of the account have ended. Sign in with the new password.
        </Notice>
        <SignInLink kind="primary" text="Sign in" />
      </CardPage>
    )
  }
  if (!reset.data) {
    return (
      <CardPage title="Set a new password">
        <Skeleton rows={3} />
      </CardPage>
    )
  }

  function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    change.mutate(formValues(event.currentTarget)['password'] ?? '')
  }
  return (
    <CardPage title="Set a new password">
      <form onSubmit={onSubmit} className="space-y-4">
        <TextField label="Username" autoComplete="username" value={reset.data.username} readOnly />
        <NewPasswordField error={fieldError(change.error, 'password')} />
        <FormErrors error={change.error} names={['password']} />
        <Button
          label="Set password"
          type="submit"
          kind="primary"
          size="large"
          className="w-full"
          isPending={change.isPending}
        />
      </form>
    </CardPage>
  )
}

export function NewPasswordField({ error }: { error: string | undefined }) {
  return (
    <TextField
      label="New password"
      name="password"
      type="password"
      autoComplete="new-password"
      minLength={PASSWORD_MIN}
      hint={`At least ${PASSWORD_MIN} characters.`}
      error={error}
      required
    />
  )
}

function InvalidLink({ detail }: { detail: string }) {
  const { data: methods } = useSignInMethods()
  return (
    <CardPage title="The link is invalid" about={detail}>
      {methods?.['password-reset'] === true ? (
        <TargetLink
          leadsTo={{ to: '/app/sign-in', search: { forgot: true } }}
          className={`${buttonClass({ kind: 'primary', size: 'large' })} w-full`}
        >
          Send a new link
        </TargetLink>
      ) : (
        <p>Ask an administrator of this server for a new link.</p>
      )}
      <SignInLink text="Go to sign-in" />
    </CardPage>
  )
}

export function SignInLink({ text, kind = 'plain' }: { text: string; kind?: 'plain' | 'primary' }) {
  return (
    <TargetLink leadsTo={{ to: '/app/sign-in' }} className={`${buttonClass({ kind, size: 'large' })} w-full`}>
      {text}
    </TargetLink>
  )
}
