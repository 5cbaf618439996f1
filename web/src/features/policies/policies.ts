import type { UpdatePolicy, policySchema } from '@groundstate/contract/policies'
import type { policySetSchema } from '@groundstate/contract/policy-sets'
import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { ApiError, apiPath, get, getData, putFile, queryString, request } from '../../api/client.ts'
import { includedOf, keepWithin, useChange } from '../../api/queries.ts'
import type { Choice } from '../../components/picker.tsx'
import { POLICY_SETS, type Policy } from './policy-sets.ts'

export const policyRoute = getRouteApi('/frame/app/$organization/policies/$policy')

type ListSearch = { q?: string | undefined; page?: number | undefined }

export function usePolicies(organization: string, { q, page }: ListSearch) {
  const query = queryString({ 'search[name]': q, 'page[size]': 50, 'page[number]': page })
  return useQuery({
    queryKey: ['policies', organization, query],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof policySchema>>(`/organizations/${organization}/policies${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** A policy with the sets that have it. */
export function usePolicy(id: string) {
  return useQuery({
    queryKey: ['policies', id],
    meta: { dependsOn: [POLICY_SETS] },
    queryFn: async ({ signal }) => {
      const document = await get<DocumentOnWire<typeof policySchema, typeof policySetSchema>>(
        `/policies/${id}?include=policy_sets`,
        signal,
      )
      const policy = document.data
      return { policy, sets: includedOf(document).many('policy-sets', policy.relationships['policy-sets']) }
    },
  })
}

/** The Rego of a policy; empty before the first upload. */
export function usePolicyCode({ id, attributes }: Policy) {
  return useQuery({
    queryKey: ['policies', id, 'code', attributes['updated-at']],
    queryFn: async ({ signal }) => {
      if (!attributes['is-uploaded']) return ''
      const response = await fetch(apiPath(`/policies/${id}/download`), { signal })
      if (!response.ok) throw new ApiError(response.status, [])
      return response.text()
    },
    placeholderData: keepWithin(id),
  })
}

type Values = { name: string; description: string; query: string; level: string; code: string }

/** Creates a policy and uploads its Rego. */
export function useCreatePolicy(organization: string) {
  return useChange(
    async ({ name, description, query, level, code }: Values) => {
      const attributes = {
        name,
        description,
        query,
        kind: 'opa',
        'enforcement-level': level,
      }
      const { data } = await request<DocumentOnWire<typeof policySchema>>(
        'POST',
        `/organizations/${organization}/policies`,
        { data: { type: 'policies', attributes } },
      )
      await uploadCode(data.id, code)
      return data
    },
    ['policies'],
  )
}

export function useUpdatePolicy(id: string) {
  return useChange(
    async (attributes: UpdatePolicy) =>
      request('PATCH', `/policies/${id}`, { data: { id, type: 'policies', attributes } }),
    ['policies'],
    [POLICY_SETS],
  )
}

export function useUploadCode(id: string) {
  return useChange(async (code: string) => uploadCode(id, code), ['policies'], [POLICY_SETS])
}

async function uploadCode(id: string, code: string) {
  await putFile(apiPath(`/policies/${id}/upload`), new Blob([code]), {
    signal: new AbortController().signal,
    onProgress: () => {},
  })
}

/** The organization's policies, for a picker, except for some ids. */
export async function findPolicies(
  organization: string,
  except: ReadonlySet<string>,
  [q, signal]: readonly [string, AbortSignal],
): Promise<Choice[]> {
  const query = queryString({ 'search[name]': q, 'page[size]': 30 })
  const data = await getData<PageOnWire<typeof policySchema>>(`/organizations/${organization}/policies${query}`, signal)
  return data
    .filter(({ id }) => !except.has(id))
    .map(({ id, attributes }) => ({ value: id, text: attributes.name, about: attributes['enforcement-level'] }))
}
