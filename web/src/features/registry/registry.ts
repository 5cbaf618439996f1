import type { DocumentedModule, moduleDocumentsSchema } from '@groundstate/contract/module-documents'
import type {
  registryModuleSchema,
  registryModuleVersionSchema,
  registryUsagesResponse,
} from '@groundstate/contract/registry-modules'
import type {
  registryProviderPlatformSchema,
  registryProviderSchema,
  registryProviderVersionSchema,
} from '@groundstate/contract/registry-providers'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import { type QueryKey, useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { holdRefetches } from '../../api/live.ts'
import { invalidate, keepWithin, queries, useChange } from '../../api/queries.ts'

export type RegistryModule = Wire<typeof registryModuleSchema>
export type ModuleVersion = Wire<typeof registryModuleVersionSchema>
export type RegistryProvider = Wire<typeof registryProviderSchema>
export type ProviderVersion = Wire<typeof registryProviderVersionSchema>
export type ProviderPlatform = Wire<typeof registryProviderPlatformSchema>
export type ModuleDocuments = Wire<typeof moduleDocumentsSchema>['attributes']
export type { DocumentedModule }

/** The types of all queries about the registry; their scope is the organization. */
export const MODULES = 'registry-modules'
export const PROVIDERS = 'registry-providers'

type ListSearch = {
  q?: string | undefined
  provider?: string | undefined
  registry?: string | undefined
  page?: number | undefined
}

export function useModules(organization: string, { q, provider, registry, page }: ListSearch) {
  const query = queryString({
    q,
    'filter[provider]': provider,
    'filter[registry_name]': registry,
    'page[number]': page,
  })
  return useQuery({
    queryKey: [MODULES, organization, 'list', query],
    meta: { dependsOn: ['runs'] },
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof registryModuleSchema>>(`/organizations/${organization}/registry-modules${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

export function useProviders(organization: string, { q, registry, page }: ListSearch) {
  const query = queryString({ q, 'filter[registry_name]': registry, 'page[number]': page })
  return useQuery({
    queryKey: [PROVIDERS, organization, 'list', query],
    meta: { dependsOn: ['runs'] },
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof registryProviderSchema>>(
        `/organizations/${organization}/registry-providers${query}`,
        signal,
      ),
    placeholderData: keepWithin(organization),
  })
}

/** The name and provider of a private module. */
export type ModuleName = { name: string; provider: string }

export function modulePath(organization: string, { name, provider }: ModuleName) {
  return `/organizations/${organization}/registry-modules/private/${organization}/${name}/${provider}`
}

export function moduleKey(organization: string, { name, provider }: ModuleName) {
  return [MODULES, organization, 'one', name, provider]
}

export function useModule(organization: string, module: ModuleName) {
  return useQuery({
    queryKey: moduleKey(organization, module),
    queryFn: async () => getData<DocumentOnWire<typeof registryModuleSchema>>(modulePath(organization, module)),
  })
}

/** A version, with the documents of a published one; both undefined while they load. */
export function useModuleVersion(organization: string, module: ModuleName, version: string | undefined) {
  const query = useQuery({
    queryKey: [...moduleKey(organization, module), 'version', version],
    enabled: version !== undefined,
    placeholderData: keepWithin(organization),
    queryFn: async () => {
      const path = `${modulePath(organization, module)}/version${queryString({ module_version: version })}`
      return getData<DocumentOnWire<typeof registryModuleVersionSchema>>(path)
    },
  })
  const found = query.data?.attributes.version === version ? query.data : undefined
  const documents = useQuery({
    queryKey: [...moduleKey(organization, module), 'documents', found?.id],
    enabled: found?.attributes.status === 'ok',
    queryFn: async () => {
      const path = `/registry-module-versions/${found?.id}/documents`
      return (await getData<DocumentOnWire<typeof moduleDocumentsSchema>>(path)).attributes
    },
  })
  return { version: query, documents }
}

export type Usage = { version: string | null; workspace: string; usedAt: string }
export type Uses = { rows: Usage[]; hidden: number; hiddenVersions: { version: string | null; count: number }[] }

/** Workspaces that use a module or a provider: those the user may read, and the numbers of the others. */
export function useUses(organization: string, type: typeof MODULES | typeof PROVIDERS, id: string | undefined) {
  return useQuery({
    queryKey: [type, organization, 'uses', id],
    enabled: id !== undefined,
    meta: { dependsOn: ['runs'] },
    queryFn: async (): Promise<Uses> => {
      const { data, meta } = await get<Wire<typeof registryUsagesResponse>>(`/${type}/${id}/workspaces`)
      const rows = data.map(({ attributes }) => ({
        version: attributes.version,
        workspace: attributes['workspace-name'],
        usedAt: attributes['used-at'],
      }))
      const hiddenVersions = meta['hidden-versions'].map((each) => ({
        version: each.version,
        count: each['workspace-count'],
      }))
      return { rows, hidden: meta['hidden-count'], hiddenVersions }
    },
  })
}

export async function createModule(organization: string, { name, provider }: ModuleName) {
  const attributes = { name, provider, 'registry-name': 'private' }
  await request('POST', `/organizations/${organization}/registry-modules`, {
    data: { type: 'registry-modules', attributes },
  })
}

export type ConnectedModule = Partial<ModuleName> & { 'vcs-repo': object; 'initial-version'?: string }

export function useConnectModule(organization: string) {
  return useChange(
    async (attributes: ConnectedModule) =>
      request<DocumentOnWire<typeof registryModuleSchema>>(
        'POST',
        `/organizations/${organization}/registry-modules/vcs`,
        { data: { type: 'registry-modules', attributes } },
      ),
    [MODULES, organization],
  )
}

/** Creates a version; its link takes the archive. A commit needs none. */
export async function createModuleVersion(
  organization: string,
  module: ModuleName,
  attributes: { version: string; 'commit-sha'?: string },
) {
  return getVersion(
    request<DocumentOnWire<typeof registryModuleVersionSchema>>(
      'POST',
      `${modulePath(organization, module)}/versions`,
      { data: { type: 'registry-module-versions', attributes } },
    ),
  )
}

async function getVersion(sent: Promise<DocumentOnWire<typeof registryModuleVersionSchema>>) {
  return (await sent).data
}

type VersionDeletion = {
  path: string
  /** The query that lists the versions. */
  refetched: QueryKey
  all: QueryKey
  /** Leaves the deleted version, if it is open. */
  leave: () => Promise<unknown>
}

/** Deletes a version. The page shows another one before queries of this one could be refetched and fail. */
export async function deleteVersion({ path, refetched, all, leave }: VersionDeletion) {
  await holdRefetches(async () => {
    await request('DELETE', path)
    await leave()
    await queries.invalidateQueries({ queryKey: refetched, exact: true })
    // Components get the response in a task that has been queued before this one.
    await new Promise((resolve) => void setTimeout(resolve))
  })
  await invalidate(all)
}

export function providerPath(organization: string, name: string) {
  return `/organizations/${organization}/registry-providers/private/${organization}/${name}`
}

export function providerKey(organization: string, name: string) {
  return [PROVIDERS, organization, 'one', name]
}

export function useProvider(organization: string, name: string) {
  return useQuery({
    queryKey: providerKey(organization, name),
    queryFn: async () => getData<DocumentOnWire<typeof registryProviderSchema>>(providerPath(organization, name)),
  })
}

export function useProviderVersions(organization: string, name: string) {
  return useQuery({
    queryKey: [...providerKey(organization, name), 'versions'],
    queryFn: async () => {
      const path = `${providerPath(organization, name)}/versions?page[size]=100`
      return getData<PageOnWire<typeof registryProviderVersionSchema>>(path)
    },
  })
}

export function useProviderPlatforms(organization: string, name: string, version: string | undefined) {
  return useQuery({
    queryKey: [...providerKey(organization, name), 'platforms', version],
    enabled: version !== undefined,
    queryFn: async () => {
      const path = `${providerPath(organization, name)}/versions/${version}/platforms?page[size]=100`
      return getData<PageOnWire<typeof registryProviderPlatformSchema>>(path)
    },
  })
}
