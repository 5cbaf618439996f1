import type { CreateOpaVersion, opaVersionSchema } from '@groundstate/contract/opa-versions'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import { sendAndRefetch, useChange } from '../../api/queries.ts'

export type OpaVersion = Wire<typeof opaVersionSchema>
export type Binary = { os: string; arch: string; url: string; sha: string }

const OPA_VERSIONS = ['opa-versions']
const PATH = '/admin/opa-versions'

export function useOpaVersions({ q, page }: { q?: string | undefined; page?: number | undefined }) {
  const query = queryString({ 'search[version]': q, 'page[number]': page, 'page[size]': 50 })
  return useQuery({
    queryKey: [...OPA_VERSIONS, 'list', query],
    queryFn: async ({ signal }) => get<PageOnWire<typeof opaVersionSchema>>(`${PATH}${query}`, signal),
    placeholderData: keepPreviousData,
  })
}

type Saved = Omit<CreateOpaVersion, 'archs'> & { archs: readonly Binary[] }

/** Creates a version, or updates that of the id. Binaries without a SHA-256 are checked with the published one. */
export function useSaveOpaVersion(id: string | undefined) {
  return useChange(async ({ archs, ...attributes }: Saved) => {
    const sent = archs.map((binary) => ({ ...binary, url: binary.url.trim(), sha: binary.sha.trim() || null }))
    return request(id === undefined ? 'POST' : 'PATCH', id === undefined ? PATH : `${PATH}/${id}`, {
      data: { type: 'opa-versions', ...(id !== undefined && { id }), attributes: { ...attributes, archs: sent } },
    })
  }, OPA_VERSIONS)
}

export async function deleteOpaVersion(id: string) {
  await sendAndRefetch('DELETE', `${PATH}/${id}`, OPA_VERSIONS)
}

/** The binaries of a release by the Open Policy Agent project. */
export function officialBinaries(version: string): Binary[] {
  const files = [
    ['linux', 'amd64', 'opa_linux_amd64_static'],
    ['linux', 'arm64', 'opa_linux_arm64_static'],
    ['darwin', 'amd64', 'opa_darwin_amd64'],
    ['darwin', 'arm64', 'opa_darwin_arm64_static'],
  ] as const
  const base = `https://github.com/open-policy-agent/opa/releases/download/v${version}`
  return files.map(([os, arch, file]) => ({ os, arch, url: `${base}/${file}`, sha: '' }))
}
