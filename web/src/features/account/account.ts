import type { recoveryCodesSchema, twoFactorEnrollmentSchema } from '@groundstate/contract/account'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { sessionSchema } from '@groundstate/contract/sessions'
import { useMutation, useQuery } from '@tanstack/react-query'
import { serverPath } from '../../api/base.ts'
import { getData, request } from '../../api/client.ts'
import { invalidate, queries, sendAndRefetch, useChange } from '../../api/queries.ts'

type Values = Record<string, string>

async function send<T>(method: string, path: string, attributes: Values) {
  return request<T>(method, `/account${path}`, { data: { type: 'users', attributes } })
}

const KEYS = [['session'], ['account-sessions']]

export function useUpdateAccount() {
  return useChange(async (values: Values) => send('PATCH', '/update', values), ...KEYS)
}

/** Lists of runs and members show pictures too, and refetch when they are opened. */
export function useSetAvatar() {
  return useChange(async (picture: Blob) => request('PUT', '/account/avatar', picture), ['session'])
}

export function useRemoveAvatar() {
  return useChange(async () => request('DELETE', '/account/avatar'), ['session'])
}

/** The server also signs out all other browsers. */
export function useChangePassword() {
  return useChange(async (values: Values) => send('PATCH', '/password', values), ...KEYS)
}

/** Mutations of two-factor authentication. Secrets in their responses are dropped when the page is left. */
export function useTwoFactor() {
  const act = async <Schema extends typeof twoFactorEnrollmentSchema | typeof recoveryCodesSchema>(
    action: string,
    values: Values,
  ): Promise<Wire<Schema>['attributes']> =>
    (await send<{ data: Wire<Schema> }>('POST', `/two-factor/actions/${action}`, values)).data.attributes
  const enroll = useChange(async (values: Values) => act<typeof twoFactorEnrollmentSchema>('enroll', values))
  const verify = useChange(async (values: Values) => act<typeof recoveryCodesSchema>('verify', values), ...KEYS)
  const renew = useChange(async (values: Values) => act<typeof recoveryCodesSchema>('renew-recovery-codes', values))
  const disable = useMutation({
    mutationFn: async (values: Values) => send('POST', '/two-factor/actions/disable', values),
    onSuccess: async () => {
      for (const step of [enroll, verify, renew]) step.reset()
      await invalidate(...KEYS)
    },
  })
  return { enroll, verify, renew, disable }
}

export function useAccountSessions() {
  return useQuery({
    queryKey: ['account-sessions'],
    queryFn: async () => getData<PageOnWire<typeof sessionSchema>>('/account/sessions'),
  })
}

export async function endSession(id: string) {
  await sendAndRefetch('DELETE', `/account/sessions/${id}`, ...KEYS)
}

export async function signOutEverywhere() {
  await request('DELETE', '/account/sessions')
  queries.clear()
  window.location.assign(serverPath('/app/sign-in'))
}

/** A field of `AttributesForm` for a password. */
export function passwordField(label: string, name: string, autoComplete: 'current-password' | 'new-password') {
  return { label, name, type: 'password', autoComplete, required: true } as const
}
