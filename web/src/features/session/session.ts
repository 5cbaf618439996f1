import type { accountSchema } from '@groundstate/contract/account'
import type { DocumentOnWire, Wire } from '@groundstate/contract/responses'
import type { signInMethodsSchema } from '@groundstate/contract/sessions'
import { useMutation, useQuery } from '@tanstack/react-query'
import { serverPath } from '../../api/base.ts'
import { ApiError, getData, request } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'

export type AccountAttributes = Wire<typeof accountSchema>['attributes']

let knownAccount: string | undefined

/** The signed-in user; null if not signed in. */
export function useSession() {
  return useQuery({
    queryKey: ['session'],
    staleTime: 60_000,
    queryFn: async () => {
      try {
        const account = await getData<DocumentOnWire<typeof accountSchema>>('/account/details')
        // Tabs share the session, so another user may have signed in in another tab.
        if (knownAccount !== undefined && knownAccount !== account.id)
          void queries.resetQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
        knownAccount = account.id
        return account
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null
        throw error
      }
    },
  })
}

export function useSignInMethods() {
  return useQuery({
    queryKey: ['sign-in-methods'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await getData<DocumentOnWire<typeof signInMethodsSchema>>('/sessions/methods')).attributes,
  })
}

type Credentials = { username: string; password: string; otp?: string }

export function useSignIn() {
  return useMutation({
    mutationFn: async (credentials: Credentials) =>
      request('POST', '/sessions', { data: { type: 'sessions', attributes: credentials } }),
    onSuccess: async () => queries.invalidateQueries(),
  })
}

export function useSignOut() {
  return useMutation({
    mutationFn: async () => request('DELETE', '/sessions/current'),
    onSettled: () => {
      queries.clear()
      window.location.assign(serverPath('/app/sign-in'))
    },
  })
}

/**
 * The path to open after sign-in. `next` is untrusted and must be a path of this application. Browsers treat backslashes
 * as slashes and ignore tabs and line breaks, so that `/\t/example.org` would lead to another host.
 */
export function signInTarget(next: string | undefined) {
  return serverPath(next !== undefined && /^\/(?![/\\])[^\s\\]*$/.test(next) ? next : '/app')
}
