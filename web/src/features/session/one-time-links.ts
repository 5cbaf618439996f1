import type { openInvitationSchema } from '@groundstate/contract/invitations'
import type { openPasswordResetSchema } from '@groundstate/contract/password-resets'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { request } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'

const KEPT_SECRET = 'groundstate-invitation'

/** The secret of the open link; undefined if the link is incomplete. */
export function useLinkSecret() {
  return useLocation({ select: ({ hash }) => hash || undefined })
}

/** As `useLinkSecret`, and keeps it in the tab: signing in, here or at an identity provider, returns without it. */
export function useInvitationSecret() {
  const secret = useLinkSecret()
  useEffect(() => {
    if (secret !== undefined) sessionStorage.setItem(KEPT_SECRET, secret)
  }, [secret])
  return secret ?? sessionStorage.getItem(KEPT_SECRET) ?? undefined
}

function forgetInvitation() {
  sessionStorage.removeItem(KEPT_SECRET)
}

async function send<T>(type: 'invitations' | 'password-resets', action: string, attributes: object) {
  return request<T>('POST', `/${type}${action}`, { data: { type, attributes } })
}

type Invitation = DocumentOnWire<typeof openInvitationSchema>

export function useInvitation(secret: string | undefined) {
  return useQuery({
    queryKey: ['invitation', secret],
    enabled: secret !== undefined,
    refetchOnWindowFocus: false,
    queryFn: async () => (await send<Invitation>('invitations', '/actions/show', { secret })).data.attributes,
  })
}

export function useAcceptInvitation(secret: string | undefined) {
  return useMutation({
    mutationFn: async () => send<Invitation>('invitations', '/actions/accept', { secret }),
    onSuccess: forgetInvitation,
  })
}

/** Creates an account and signs it in. */
export function useRegister(secret: string | undefined) {
  return useMutation({
    mutationFn: async (account: Record<string, string>) =>
      send('invitations', '/actions/register', { secret, ...account }),
    onSuccess: forgetInvitation,
  })
}

/** Signs out to use another account, without leaving the page. */
export function useSwitchAccount() {
  return useMutation({
    mutationFn: async () => request('DELETE', '/sessions/current'),
    onSuccess: async () => queries.resetQueries({ queryKey: ['session'] }),
  })
}

export function usePasswordReset(secret: string | undefined) {
  return useQuery({
    queryKey: ['password-reset', secret],
    enabled: secret !== undefined,
    refetchOnWindowFocus: false,
    queryFn: async () =>
      (await send<DocumentOnWire<typeof openPasswordResetSchema>>('password-resets', '/actions/show', { secret })).data
        .attributes,
  })
}

export function useSetPassword(secret: string | undefined) {
  return useMutation({
    mutationFn: async (password: string) => send('password-resets', '/actions/set-password', { secret, password }),
  })
}

export function useRequestPasswordReset() {
  return useMutation({ mutationFn: async (username: string) => send('password-resets', '', { username }) })
}
