import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiError, type Document, get, request } from '../../api/client.ts'

export type UserAttributes = {
  username: string
  'avatar-url': string
  email: string
  'unconfirmed-email': string | null
  'is-sso-login': boolean
  'two-factor': { enabled: boolean }
}

/** Who is signed in; null when nobody is. */
export function useSession() {
  return useQuery({
    queryKey: ['session'],
    staleTime: 60_000,
    queryFn: async () => {
      try {
        return (await get<Document<UserAttributes>>('/account/details')).data
      } catch (error) {
        if (error instanceof ApiError && error.status === 401) return null
        throw error
      }
    },
  })
}

export type SignInMethods = { password: boolean; sso: { name: string; url: string } | null }

/** The ways to sign in that this server offers. */
export function useSignInMethods() {
  return useQuery({
    queryKey: ['sign-in-methods'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await get<Document<SignInMethods>>('/sessions/methods')).data.attributes,
  })
}

export type Credentials = { username: string; password: string; otp?: string }

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
      window.location.assign('/app/sign-in')
    },
  })
}
