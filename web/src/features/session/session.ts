import type { accountSchema } from '@groundstate/contract/account'
import type { DocumentOnWire, Wire } from '@groundstate/contract/responses'
import type { signInMethodsSchema } from '@groundstate/contract/sessions'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { serverPath } from '../../api/base.ts'
import { ApiError, get, request } from '../../api/client.ts'

export type AccountAttributes = Wire<typeof accountSchema>['attributes']

/** Whose answers the cache holds. */
let knownAccount: string | undefined

/** The signed-in user; null when there is none. */
export function useSession() {
  const queries = useQueryClient()
  return useQuery({
    queryKey: ['session'],
    staleTime: 60_000,
    queryFn: async () => {
      try {
        const account = (await get<DocumentOnWire<typeof accountSchema>>('/account/details')).data
        // Tabs share the session: another user may have signed in in another one.
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

/** The sign-in methods of this server. */
export function useSignInMethods() {
  return useQuery({
    queryKey: ['sign-in-methods'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await get<DocumentOnWire<typeof signInMethodsSchema>>('/sessions/methods')).data.attributes,
  })
}

type Credentials = { username: string; password: string; otp?: string }

export function useSignIn() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (credentials: Credentials) =>
      request('POST', '/sessions', { data: { type: 'sessions', attributes: credentials } }),
    onSuccess: async () => queries.invalidateQueries(),
  })
}

export function useSignOut() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async () => request('DELETE', '/sessions/current'),
    onSettled: () => {
      queries.clear()
      window.location.assign(serverPath('/app/sign-in'))
    },
  })
}

/**
 * Where a sign-in leads: to a path of the application only, since `next` comes from outside. A browser takes a backslash
 * for a slash and leaves out tabs and line breaks, so that `/\t/example.org` would lead to another host.
 */
export function signInTarget(next: string | undefined) {
  return serverPath(next !== undefined && /^\/(?![/\\])[^\s\\]*$/.test(next) ? next : '/app')
}
