import type { adminMembershipSchema, adminUserSchema } from '@groundstate/contract/admin'
import type { passwordResetSchema } from '@groundstate/contract/password-resets'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { invalidate, useChange } from '../../api/queries.ts'
import { useSignInMethods } from '../session/session.ts'

export type AdminUser = Wire<typeof adminUserSchema>
type UserDocument = DocumentOnWire<typeof adminUserSchema, typeof passwordResetSchema>

/** Filters of the list in the URL, with the API's parameter. */
export const USER_FILTERS = {
  admins: { text: 'Administrators', query: { 'filter[admin]': 'true' } },
  suspended: { text: 'Suspended', query: { 'filter[suspended]': 'true' } },
  unconfirmed: { text: 'Unconfirmed address', query: { 'filter[unconfirmed]': 'true' } },
  'no-two-factor': { text: 'Without two-factor', query: { 'filter[two-factor]': 'false' } },
} as const
type UserFilter = keyof typeof USER_FILTERS

export function readFilter(text: string | undefined) {
  return text !== undefined && text in USER_FILTERS ? (text as UserFilter) : undefined
}

/** Users are of no organization, whose stream would announce their changes. */
const REFETCH_MS = 10_000

type UserSearch = { q?: string | undefined; filter?: UserFilter | undefined; page?: number | undefined }

export function useUsers({ q, filter, page }: UserSearch) {
  const query = queryString({
    q,
    ...(filter && USER_FILTERS[filter].query),
    'page[number]': page,
    'page[size]': 50,
  })
  return useQuery({
    queryKey: ['admin-users', 'list', query],
    queryFn: async ({ signal }) => get<PageOnWire<typeof adminUserSchema>>(`/admin/users${query}`, signal),
    placeholderData: keepPreviousData,
    refetchInterval: REFETCH_MS,
  })
}

export function useUser(id: string) {
  return useQuery({
    queryKey: ['admin-users', id],
    queryFn: async () => getData<UserDocument>(`/admin/users/${id}`),
    refetchInterval: REFETCH_MS,
  })
}

/** How a user signs in. On a server without an identity provider, an account for single sign-on only lacks a password. */
export function useSignInMethod({ attributes }: AdminUser) {
  const { data: methods } = useSignInMethods()
  const { 'auth-method': method } = attributes
  return method === 'sso' && methods?.sso === null ? 'none' : method
}

export function useMemberships(userId: string, page: number) {
  return useQuery({
    queryKey: ['admin-users', userId, 'memberships', page],
    queryFn: async () =>
      get<PageOnWire<typeof adminMembershipSchema>>(
        `/admin/users/${userId}/organization-memberships?page[size]=20&page[number]=${page}`,
      ),
    placeholderData: keepPreviousData,
  })
}

/** An account without a password comes with a link to set one, unless users sign in elsewhere. */
export function useCreateUser() {
  return useChange(
    async (attributes: { username: string; email: string; password?: string; 'is-admin': boolean }) =>
      request<UserDocument>('POST', '/admin/users', { data: { type: 'users', attributes } }),
    ['admin-users'],
  )
}

export async function updateUser(id: string, attributes: { username?: string; email?: string; password?: string }) {
  await request('PATCH', `/admin/users/${id}`, { data: { type: 'users', attributes } })
  await invalidate(['admin-users'], ['session'])
}

type UserAction = 'suspend' | 'unsuspend' | 'grant_admin' | 'revoke_admin' | 'disable_two_factor'

export async function actOnUser(id: string, action: UserAction) {
  await request('POST', `/admin/users/${id}/actions/${action}`)
  await invalidate(['admin-users'], ['session'])
}

/** The link is in the response only. */
export function useResetPassword(id: string) {
  return useChange(
    async () =>
      request<DocumentOnWire<typeof passwordResetSchema>>('POST', `/admin/users/${id}/actions/reset_password`),
    ['admin-users', id],
  )
}
