import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { tokenSchema } from '@groundstate/contract/tokens'
import { useMutation, useQuery } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'
import { invalidate, useChange } from '../../api/queries.ts'

export type Token = Wire<typeof tokenSchema>
type NewToken = { description: string; 'expired-at': string | null }

export function useTokens(userId: string, page: number) {
  return useQuery({
    queryKey: ['tokens', userId, page],
    queryFn: async () =>
      get<PageOnWire<typeof tokenSchema>>(`/users/${userId}/authentication-tokens?page[size]=50&page[number]=${page}`),
  })
}

/** Creates a token. Its secret is in the response only, which is dropped when the page is left. */
export function useCreateToken(userId: string) {
  return useChange(
    async (attributes: NewToken) =>
      request<DocumentOnWire<typeof tokenSchema>>('POST', `/users/${userId}/authentication-tokens`, {
        data: { type: 'authentication-tokens', attributes },
      }),
    ['tokens', userId],
  )
}

export function useRevokeToken(userId: string) {
  return useMutation({
    mutationFn: async (id: string) => request('DELETE', `/authentication-tokens/${id}`),
    onSettled: async () => invalidate(['tokens', userId]),
  })
}
