import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { serverPath } from '../../api/base.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { FormErrors, TextField, fieldError, formValues } from '../../components/form.tsx'
import { Mark, usePageTitle } from '../../components/page.tsx'
import { signInTarget, useSignIn, useSignInMethods } from './session.ts'

const route = getRouteApi('/app/sign-in')

export function SignInPage() {
  const { next } = route.useSearch()
  const signIn = useSignIn()
  const methods = useSignInMethods()
  // Remains true during the next attempt, so that the field keeps its text.
  const [needsOtp, setNeedsOtp] = useState(false)
  const target = signInTarget(next)
  usePageTitle('Sign in')

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
    <main className="grid min-h-dvh place-items-center px-4 py-8">
      <div className="w-full max-w-sm rounded-lg border border-line bg-paper p-6">
        <p className="flex items-center gap-2 font-semibold">
          <Mark />
          Groundstate
        </p>
        <h1 className="mt-5 text-xl font-semibold tracking-tight">Sign in to Groundstate</h1>
        {methods.data?.password !== false && (
          <form onSubmit={onSubmit} className="mt-5 space-y-4">
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
        )}
        {methods.data?.sso && (
          <a
            href={`${serverPath(methods.data.sso.url)}?${new URLSearchParams({ return_to: target }).toString()}`}
            className={`${buttonClass({ size: 'large' })} mt-4 w-full`}
          >
            Sign in with {methods.data.sso.name}
          </a>
        )}
      </div>
    </main>
  )
}
