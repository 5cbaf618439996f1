import type { identityKeysDocument } from '@groundstate/contract/identity-keys'
import type { Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'
import { invalidate, sendAndRefetch } from '../../api/queries.ts'

type IdentityKeys = Wire<typeof identityKeysDocument>
export type IdentityKey = IdentityKeys['data'][number]

const KEYS = ['identity-keys']

/** The published keys and the issuer. Keys change their state by time too. */
export function useIdentityKeys() {
  return useQuery({
    queryKey: KEYS,
    queryFn: async ({ signal }) => get<IdentityKeys>('/admin/identity-keys', signal),
    refetchInterval: REFETCH_MS,
  })
}
const REFETCH_MS = 30_000

export async function rotateKeys() {
  await sendAndRefetch('POST', '/admin/identity-keys/actions/rotate', KEYS)
}

export async function activateKey(id: string, { force }: { force: boolean }) {
  try {
    await request('POST', `/admin/identity-keys/${id}/actions/activate`, { force })
  } finally {
    await invalidate(KEYS)
  }
}
