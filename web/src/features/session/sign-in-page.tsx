import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { Button, TextField } from '../../components/button.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { useSignIn, useSignInMethods } from './session.ts'

const route = getRouteApi('/app/sign-in')

export function SignInPage() {
  const { next } = route.useSearch()
  const signIn = useSignIn()
  const methods = useSignInMethods()
  const [otp, setOtp] = useState('')
  // A path of our own only: the parameter comes from outside.
  const target = next !== undefined && /^\/(?![/\\])/.test(next) ? next : '/app'
  const needsOtp = signIn.error?.message.includes('one-time') ?? false

  function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const text = (name: string) => {
      const value = form.get(name)
      return typeof value === 'string' ? value : ''
    }
    signIn.mutate(
      {
        username: text('username'),
        password: text('password'),
        ...(otp !== '' && { otp }),
      },
      { onSuccess: () => window.location.assign(target) },
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
            <TextField
              label="One-time code"
              inputMode="numeric"
              autoComplete="one-time-code"
              value={otp}
              onChange={(event) => setOtp(event.target.value)}
              required
            />
          )}
          {signIn.error && <ErrorNote error={signIn.error} />}
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
