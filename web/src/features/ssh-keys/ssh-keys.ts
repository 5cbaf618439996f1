import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { sshKeySchema } from '@groundstate/contract/ssh-keys'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { keepWithin, sendAndRefetch, useChange } from '../../api/queries.ts'

export type SshKey = Wire<typeof sshKeySchema>

/** The type of all queries about keys; their scope is the organization. */
const SSH_KEYS = 'ssh-keys'

export function useSshKeys(organization: string, page: number | undefined) {
  const query = queryString({ 'page[number]': page })
  return useQuery({
    queryKey: [SSH_KEYS, organization, 'list', query],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof sshKeySchema>>(`/organizations/${organization}/ssh-keys${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** The keys to choose from. */
export function useSshKeyChoices(organization: string) {
  return useQuery({
    queryKey: [SSH_KEYS, organization, 'choices'],
    queryFn: async ({ signal }) => {
      const path = `/organizations/${organization}/ssh-keys?page[size]=100`
      const keys = await getData<PageOnWire<typeof sshKeySchema>>(path, signal)
      return keys.map(({ id, attributes }) => ({ id, name: attributes.name }))
    },
  })
}

type KeyAttributes = { name?: string | undefined; value?: string | undefined }

/** Creates a key, or changes the one with the id. */
export function useSaveSshKey(organization: string, id?: string) {
  return useChange(
    async (attributes: KeyAttributes) =>
      id === undefined
        ? request('POST', `/organizations/${organization}/ssh-keys`, { data: { type: 'ssh-keys', attributes } })
        : request('PATCH', `/ssh-keys/${id}`, { data: { id, type: 'ssh-keys', attributes } }),
    [SSH_KEYS, organization],
  )
}

export async function deleteSshKey(organization: string, id: string) {
  return sendAndRefetch('DELETE', `/ssh-keys/${id}`, [SSH_KEYS, organization], ['workspaces'])
}
