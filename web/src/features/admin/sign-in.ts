import type { DocumentOnWire, Wire } from '@groundstate/contract/responses'
import type {
  SignInInput,
  signInSettingsSchema,
  signInTestSchema,
  signInTrialSchema,
} from '@groundstate/contract/sign-in-settings'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getData, request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'

export type SignInSettings = Wire<typeof signInSettingsSchema>['attributes']
export type SignInTest = Wire<typeof signInTestSchema>
export type SignInTrial = Wire<typeof signInTrialSchema>

const SETTINGS = '/admin/sign-in-settings'
const bodyOf = (attributes: SignInInput) => ({ data: { type: 'sign-in-settings', attributes } })

export function useSignInSettings() {
  return useQuery({
    queryKey: ['sign-in-settings'],
    queryFn: async () => (await getData<DocumentOnWire<typeof signInSettingsSchema>>(SETTINGS)).attributes,
  })
}

export function useUpdateSignIn() {
  return useChange(
    async (changes: SignInInput) => request('PATCH', SETTINGS, bodyOf(changes)),
    ['sign-in-settings'],
    ['sign-in-methods'],
  )
}

export function useTestSignIn() {
  return useMutation({
    mutationFn: async (draft: SignInInput) => request<SignInTest>('POST', `${SETTINGS}/actions/test`, bodyOf(draft)),
  })
}

export async function createTrial(draft: SignInInput) {
  return (await request<DocumentOnWire<typeof signInTrialSchema>>('POST', '/admin/sign-in-trials', bodyOf(draft))).data
}

const POLL_MS = 2000

/** A trial sign-in, which another tab finishes. */
export function useTrial(id: string | undefined) {
  return useQuery({
    queryKey: ['sign-in-trials', id],
    enabled: id !== undefined,
    queryFn: async () => getData<DocumentOnWire<typeof signInTrialSchema>>(`/admin/sign-in-trials/${id}`),
    refetchInterval: ({ state }) => (state.data?.attributes.status === 'pending' ? POLL_MS : false),
  })
}
