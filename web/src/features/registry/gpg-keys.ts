import type { gpgKeySchema } from '@groundstate/contract/gpg-keys'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { keepWithin, sendAndRefetch, useChange } from '../../api/queries.ts'

export type GpgKey = Wire<typeof gpgKeySchema>

/** The type of all queries about keys; their scope is the organization. */
const GPG_KEYS = 'gpg-keys'
export const GPG_KEYS_PATH = '/api/registry/private/v2/gpg-keys'

export function useGpgKeys(organization: string, page: number | undefined) {
  const query = queryString({ 'filter[namespace]': organization, 'page[number]': page })
  return useQuery({
    queryKey: [GPG_KEYS, organization, 'list', query],
    queryFn: async ({ signal }) => get<PageOnWire<typeof gpgKeySchema>>(`${GPG_KEYS_PATH}${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

export function useAddGpgKey(organization: string) {
  return useChange(
    async (armor: string) =>
      request('POST', GPG_KEYS_PATH, {
        data: { type: 'gpg-keys', attributes: { namespace: organization, 'ascii-armor': armor } },
      }),
    [GPG_KEYS, organization],
  )
}

export async function deleteGpgKey(organization: string, keyId: string) {
  return sendAndRefetch('DELETE', `${GPG_KEYS_PATH}/${organization}/${keyId}`, [GPG_KEYS, organization])
}
