import type { recoveryCodesSchema, twoFactorEnrollmentSchema } from '@groundstate/contract/account'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { sessionSchema } from '@groundstate/contract/sessions'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { serverPath } from '../../api/base.ts'
import { get, request } from '../../api/client.ts'

type Values = Record<string, string>

/** Sends a request about the account; `attributes` are those of its body. */
async function send<T>(method: string, path: string, attributes: Values) {
  return request<T>(method, `/account${path}`, { data: { type: 'users', attributes } })
}

function useRefresh() {
  const queries = useQueryClient()
  return async () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['session'] }),
      queries.invalidateQueries({ queryKey: ['account-sessions'] }),
    ])
}

export function useUpdateAccount() {
  const refresh = useRefresh()
  return useMutation({ mutationFn: async (values: Values) => send('PATCH', '/update', values), onSuccess: refresh })
}

/** The server also signs out all other browsers. */
export function useChangePassword() {
  const refresh = useRefresh()
  return useMutation({ mutationFn: async (values: Values) => send('PATCH', '/password', values), onSuccess: refresh })
}

/** The steps of two-factor authentication. Their answers are shown once, and dropped when the page is left. */
export function useTwoFactor() {
  const refresh = useRefresh()
  const act = async <Schema extends typeof twoFactorEnrollmentSchema | typeof recoveryCodesSchema>(
    action: string,
    values: Values,
  ): Promise<Wire<Schema>['attributes']> =>
    (await send<{ data: Wire<Schema> }>('POST', `/two-factor/actions/${action}`, values)).data.attributes
  const enroll = useMutation({
    gcTime: 0,
    mutationFn: async (values: Values) => act<typeof twoFactorEnrollmentSchema>('enroll', values),
  })
  const verify = useMutation({
    gcTime: 0,
    mutationFn: async (values: Values) => act<typeof recoveryCodesSchema>('verify', values),
    onSuccess: refresh,
  })
  const renew = useMutation({
    gcTime: 0,
    mutationFn: async (values: Values) => act<typeof recoveryCodesSchema>('renew-recovery-codes', values),
  })
  const disable = useMutation({
    mutationFn: async (values: Values) => send('POST', '/two-factor/actions/disable', values),
    onSuccess: async () => {
      for (const step of [enroll, verify, renew]) step.reset()
      await refresh()
    },
  })
  return { enroll, verify, renew, disable }
}

/** The sessions of the account. */
export function useAccountSessions() {
  return useQuery({
    queryKey: ['account-sessions'],
    queryFn: async () => (await get<PageOnWire<typeof sessionSchema>>('/account/sessions')).data,
  })
}

export function useEndSession() {
  const refresh = useRefresh()
  return useMutation({
    mutationFn: async (id: string) => request('DELETE', `/account/sessions/${id}`),
    onSettled: refresh,
  })
}

/** Also ends the session of this browser. */
export function useSignOutEverywhere() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async () => request('DELETE', '/account/sessions'),
    onSuccess: () => {
      queries.clear()
      window.location.assign(serverPath('/app/sign-in'))
    },
  })
}
