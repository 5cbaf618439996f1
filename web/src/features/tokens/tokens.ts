import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { tokenSchema } from '@groundstate/contract/tokens'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'

export type Token = Wire<typeof tokenSchema>
export type NewToken = { description: string; 'expired-at': string | null }

/** The API tokens of a person. */
export function useTokens(userId: string, page: number) {
  return useQuery({
    queryKey: ['tokens', userId, page],
    queryFn: async () =>
      get<PageOnWire<typeof tokenSchema>>(`/users/${userId}/authentication-tokens?page[size]=50&page[number]=${page}`),
  })
}

/** The response has the secret; it is dropped when the page is left. */
export function useCreateToken(userId: string) {
  const queries = useQueryClient()
  return useMutation({
    gcTime: 0,
    mutationFn: async (attributes: NewToken) =>
      request<DocumentOnWire<typeof tokenSchema>>('POST', `/users/${userId}/authentication-tokens`, {
        data: { type: 'authentication-tokens', attributes },
      }),
    onSuccess: async () => queries.invalidateQueries({ queryKey: ['tokens', userId] }),
  })
}

export function useRevokeToken(userId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (id: string) => request('DELETE', `/authentication-tokens/${id}`),
    onSettled: async () => queries.invalidateQueries({ queryKey: ['tokens', userId] }),
  })
}
