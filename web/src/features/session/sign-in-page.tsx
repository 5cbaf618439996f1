import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { fieldError, FormErrors, formValues, TextField } from '../../components/form.tsx'
import { useSignIn, useSignInMethods } from './session.ts'

const route = getRouteApi('/app/sign-in')

export function SignInPage() {
  const { next } = route.useSearch()
  const signIn = useSignIn()
  const methods = useSignInMethods()
  // Stays true during the next attempt, so that the field does not disappear and lose its text.
  const [needsOtp, setNeedsOtp] = useState(false)
  // Only a path on this server, since the parameter comes from outside.
  const target = next !== undefined && /^\/(?![/\\])/.test(next) ? next : '/app'

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
    <main className="mx-auto mt-24 max-w-sm px-6">
      <h1 className="text-2xl font-semibold tracking-tight">Sign in to Groundstate</h1>
      {methods.data?.password !== false && (
        <form onSubmit={onSubmit} className="mt-8 space-y-4">
          <TextField label="Username or email" name="username" autoComplete="username" required autoFocus />
          <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
          {needsOtp && (
            // Not `inputMode="numeric"`: a recovery code has letters.
            <TextField
              label="Code of your authenticator, or a recovery code"
              name="otp"
              autoComplete="one-time-code"
              autoCapitalize="none"
              error={fieldError(signIn.error, 'otp')}
              required
              autoFocus
            />
          )}
          <FormErrors error={signIn.error} names={['otp']} />
          <Button type="submit" kind="primary" className="w-full py-2" disabled={signIn.isPending}>
            {signIn.isPending ? 'Signing in…' : 'Sign in'}
          </Button>
        </form>
      )}
      {methods.data?.sso && (
        <a
          href={`${methods.data.sso.url}?${new URLSearchParams({ return_to: target }).toString()}`}
          className="mt-6 block rounded-md border px-3 py-2 text-center font-medium hover:underline"
        >
          Sign in with {methods.data.sso.name}
        </a>
      )}
    </main>
  )
}
