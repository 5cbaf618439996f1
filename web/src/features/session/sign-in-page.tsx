import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { serverPath } from '../../api/base.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { Notice } from '../../components/feedback.tsx'
import { FormErrors, TextField, fieldError, formValues } from '../../components/form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { CardPage } from './card-page.tsx'
import { useRequestPasswordReset } from './one-time-links.ts'
import { signInTarget, useSignIn, useSignInMethods } from './session.ts'

const route = getRouteApi('/app/sign-in')

export function SignInPage() {
  const { next, forgot } = route.useSearch()
  const { data: methods } = useSignInMethods()
  const target = signInTarget(next)
  if (forgot === true && methods?.['password-reset'] === true) return <ForgotPassword next={next} />
  return (
    <CardPage title="Sign in to Groundstate">
      {methods?.password !== false && <PasswordForm target={target} />}
      {methods?.sso && <SsoLink {...methods.sso} target={target} action="Sign in" />}
      {methods?.password === true &&
        (methods['password-reset'] ? (
          <TargetLink
            leadsTo={{ to: '/app/sign-in', search: { ...(next !== undefined && { next }), forgot: true } }}
            className="block text-center text-accent hover:underline"
          >
            Forgot password?
          </TargetLink>
        ) : (
          <p className="text-dim">
            Forgot your password? An administrator of this server can{' '}
            <DocsLink page="sign-in" anchor="passwords-and-two-factor-authentication">
              give you a link
            </DocsLink>{' '}
            to set a new one.
          </p>
        ))}
    </CardPage>
  )
}

type SsoLinkProps = { name: string; url: string; target: string; action: 'Sign in' | 'Continue' }

/** A link to the identity provider, which leads back to the path `target`. */
export function SsoLink({ name, url, target, action }: SsoLinkProps) {
  return (
    <a
      href={`${serverPath(url)}?${new URLSearchParams({ return_to: target }).toString()}`}
      className={`${buttonClass({ size: 'large' })} w-full`}
    >
      {action} with {name}
    </a>
  )
}

function PasswordForm({ target }: { target: string }) {
  const signIn = useSignIn()
  // Remains true during the next attempt, so that the field keeps its text.
  const [needsOtp, setNeedsOtp] = useState(false)

  function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const { username = '', password = '', otp } = formValues(event.currentTarget)
    signIn.mutate(
      { username, password, ...(otp !== undefined && { otp }) },
      {
        onSuccess: () => window.location.assign(target),
        onError: (error) => {
          if (fieldError(error, 'otp') !== undefined) setNeedsOtp(true)
        },
      },
    )
  }

  return (
    <form onSubmit={onSubmit} className="space-y-4">
      <TextField
        label="Username or email"
        name="username"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        required
        autoFocus
      />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
      {needsOtp && (
        // Not `inputMode="numeric"`: a recovery code has letters.
        <TextField
          label="Authenticator or recovery code"
          name="otp"
          autoComplete="one-time-code"
          autoCapitalize="none"
          error={fieldError(signIn.error, 'otp')}
          required
          autoFocus
        />
      )}
      <FormErrors error={signIn.error} names={['otp']} />
      <Button
        label="Sign in"
        type="submit"
        kind="primary"
        size="large"
        className="w-full"
        isPending={signIn.isPending}
      />
    </form>
  )
}

function ForgotPassword({ next }: { next: string | undefined }) {
  const reset = useRequestPasswordReset()
  return (
    <CardPage title="Reset your password" about="You get an email with a link to set a new one.">
      {reset.isSuccess ? (
        <Notice tone="good" role="status">
          If there is an account with this name or address, an email is on its way to its confirmed address. The link
          works once, for 24 hours.
        </Notice>
      ) : (
        <form
          className="space-y-4"
          onSubmit={(event) => {
            event.preventDefault()
            reset.mutate(formValues(event.currentTarget)['username'] ?? '')
          }}
        >
          <TextField
            label="Username or email"
            name="username"
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            required
            autoFocus
          />
          <FormErrors error={reset.error} names={[]} />
          <Button
            label="Send link"
            type="submit"
            kind="primary"
            size="large"
            className="w-full"
            isPending={reset.isPending}
          />
        </form>
      )}
      <TargetLink
        leadsTo={{ to: '/app/sign-in', search: next === undefined ? {} : { next } }}
        className="block text-center text-accent hover:underline"
      >
        Back to sign-in
      </TargetLink>
    </CardPage>
  )
}
