import type {
  CreateOAuthClient,
  ServiceProvider,
  UpdateOAuthClient,
  connectionTestSchema,
  githubAppInstallationSchema,
  oauthClientSchema,
  oauthTokenSchema,
} from '@groundstate/contract/oauth-clients'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { vcsEventSchema } from '@groundstate/contract/vcs-events'
import type { vcsRepositorySchema, webhookSecretSchema } from '@groundstate/contract/vcs-repositories'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get, getData, queryString, request } from '../../api/client.ts'
import { includedOf, invalidate, keepWithin, useChange } from '../../api/queries.ts'
import type { Choice } from '../../components/picker.tsx'
import { withLocalTimes } from '../../components/time.tsx'
import { connectionName } from './providers.ts'

export type Connection = Wire<typeof oauthClientSchema>
export type VcsRepository = Wire<typeof vcsRepositorySchema>
export type ConnectionTest = Wire<typeof connectionTestSchema>['attributes']

/** The type of all queries about connections; their scope is the organization or the connection. */
export const CONNECTIONS = 'oauth-clients'

export const connectionRoute = getRouteApi('/frame/app/$organization/connections/$connection')

const AFFECTED = 'show_affected_workspaces=true'

export function useConnections(organization: string, { page }: { page?: number | undefined } = {}) {
  const query = queryString({ 'page[size]': 50, 'page[number]': page })
  return useQuery({
    queryKey: [CONNECTIONS, organization, 'list', query],
    meta: { dependsOn: ['vcs-deliveries'] },
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof oauthClientSchema>>(
        `/organizations/${organization}/oauth-clients${query}&${AFFECTED}`,
        signal,
      ),
    placeholderData: keepWithin(organization),
  })
}

/** A connection with its token, and the projects whose workspaces may use it. */
export function useConnection(id: string) {
  return useQuery({
    queryKey: [CONNECTIONS, id],
    meta: { dependsOn: ['workspaces'] },
    queryFn: async ({ signal }) => {
      type Document = DocumentOnWire<typeof oauthClientSchema, typeof oauthTokenSchema | typeof projectSchema>
      const path = `/oauth-clients/${id}?include=oauth_tokens,projects&${AFFECTED}`
      const document = await get<Document>(path, signal)
      const included = includedOf(document)
      const { 'oauth-tokens': tokens, projects } = document.data.relationships
      return {
        connection: document.data,
        token: included.many('oauth-tokens', tokens).at(-1),
        projects: included.many('projects', projects).map((one) => ({ id: one.id, name: one.attributes.name })),
      }
    },
  })
}
export type ShownConnection = NonNullable<ReturnType<typeof useConnection>['data']>

export function useCreateConnection(organization: string) {
  return useChange(
    async (data: Pick<CreateOAuthClient, 'attributes' | 'relationships'>) =>
      request<DocumentOnWire<typeof oauthClientSchema>>('POST', `/organizations/${organization}/oauth-clients`, {
        data: { type: 'oauth-clients', ...data },
      }),
    [CONNECTIONS, organization],
  )
}

type Changes = { attributes?: Partial<UpdateOAuthClient['attributes']>; relationships?: Record<string, unknown> }

export function useUpdateConnection(organization: string, id: string) {
  return useChange(
    async (changes: Changes) =>
      request('PATCH', `/oauth-clients/${id}`, { data: { id, type: 'oauth-clients', ...changes } }),
    [CONNECTIONS, id],
    [CONNECTIONS, organization],
  )
}

/** Sets the key with which submodules are cloned through the token, or removes it. */
export function useSetTokenKey(connectionId: string) {
  return useChange(
    async ({ tokenId, key }: { tokenId: string; key: string | null }) =>
      request('PATCH', `/oauth-tokens/${tokenId}`, {
        data: { id: tokenId, type: 'oauth-tokens', attributes: { 'ssh-key': key } },
      }),
    [CONNECTIONS, connectionId],
  )
}

/** Asks the host now. The result is kept only by the component; what the host refuses also changes the connection. */
export function useTestConnection(id: string) {
  return useMutation({
    mutationFn: async () =>
      (await request<DocumentOnWire<typeof connectionTestSchema>>('POST', `/oauth-clients/${id}/actions/test`)).data
        .attributes,
    onSettled: async () => invalidate([CONNECTIONS, id]),
  })
}

export function useConnectionRepositories(id: string, page: number | undefined) {
  const query = queryString({ 'page[number]': page })
  return useQuery({
    queryKey: [CONNECTIONS, id, 'repositories', query],
    meta: { dependsOn: ['workspaces', 'vcs-deliveries'] },
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof vcsRepositorySchema>>(`/oauth-clients/${id}/vcs-repositories${query}`, signal),
    placeholderData: keepWithin(id),
  })
}

export function useRegisterWebhook(connectionId: string) {
  return useChange(
    async (id: string) => request('POST', `/vcs-repositories/${id}/actions/register-webhook`),
    [CONNECTIONS, connectionId],
  )
}

/** Replaces the secret of a webhook; the response is the only one that has it. */
export async function rotateWebhookSecret(id: string) {
  const path = `/vcs-repositories/${id}/actions/rotate-webhook-secret`
  return (await request<DocumentOnWire<typeof webhookSecretSchema>>('POST', path)).data.attributes
}

/** Recent events of a connection, such as a refused token, the newest first. */
export function useVcsEvents(organization: string, connectionId: string, page: number | undefined) {
  const query = queryString({ 'filter[oauth_client_external_ids]': connectionId, 'page[number]': page })
  return useQuery({
    queryKey: [CONNECTIONS, organization, 'events', query],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof vcsEventSchema>>(`/organizations/${organization}/vcs-events${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** The connection of a workspace's repository: a token, or an installation of the GitHub App. */
export type UsableConnection = {
  id: string
  /** The id of the token's connection; undefined for an installation. */
  clientId: string | undefined
  name: string
  /** Of the host, without the protocol. */
  address: string
  provider: ServiceProvider
  /** Why the host refuses it, or since when the host cannot be reached. */
  problem: string | null
}

/** Connections that workspaces of the project may use. */
export function useUsableConnections(organization: string, projectId: string | undefined) {
  const clients = useTokenConnections(organization, projectId)
  const installations = useInstallations(organization)
  const { data, error } = clients
  return {
    data: data && [
      ...data,
      ...(installations.data ?? []).map(({ id, attributes }) => ({
        id,
        clientId: undefined,
        name: `GitHub App in ${attributes.name ?? id}`,
        address: 'github.com',
        provider: 'github' as const,
        problem: attributes['status-message'],
      })),
    ],
    error,
    refetch: clients.refetch,
  }
}

/** Options of a select. Connections with the same name have the address of the host, and their id if that is the same, too. */
export function connectionOptions(connections: readonly Pick<UsableConnection, 'id' | 'name' | 'address'>[]) {
  return connections.map(({ id, name, address }) => {
    const namesakes = connections.filter((other) => other.name === name)
    if (namesakes.length === 1) return [id, name] as const
    const isOnly = namesakes.filter((other) => other.address === address).length === 1
    return [id, `${name} (${isOnly ? address : `${address}, ${id}`})`] as const
  })
}

export type Installation = Wire<typeof githubAppInstallationSchema>

/** The installations of the GitHub App that are linked to the organization. */
export function useInstallations(organization: string) {
  return useQuery({
    queryKey: ['github-app-installations', organization],
    queryFn: async ({ signal }) =>
      getData<PageOnWire<typeof githubAppInstallationSchema>>(
        `/organizations/${organization}/github-app-installations?page[size]=100`,
        signal,
      ),
  })
}

function useTokenConnections(organization: string, projectId: string | undefined) {
  return useQuery({
    queryKey: [CONNECTIONS, organization, 'usable'],
    queryFn: async ({ signal }) =>
      getData<PageOnWire<typeof oauthClientSchema>>(
        `/organizations/${organization}/oauth-clients?page[size]=100`,
        signal,
      ),
    select: (connections) =>
      connections.flatMap((connection) => {
        const { projects, 'oauth-tokens': tokens } = connection.relationships
        const isOpen =
          connection.attributes['organization-scoped'] || projects.data.some((project) => project.id === projectId)
        const tokenId = tokens.data.at(-1)?.id
        if (!isOpen || tokenId === undefined) return []
        const { status, 'status-message': message, 'service-provider': provider } = connection.attributes
        const problem = status === 'failed' ? (message ?? 'The host refuses the token of the connection.') : message
        const address = (connection.attributes['http-url'] ?? '').replace(/^\w+:\/\//, '')
        return [
          {
            id: tokenId,
            clientId: connection.id,
            name: connectionName(connection),
            address,
            provider,
            problem: problem && withLocalTimes(problem),
          },
        ]
      }),
  })
}

/** A repository that a workspace uses, with its webhook and what the host said about it; undefined before the response. */
export function useUsedRepository(clientId: string | undefined, identifier: string) {
  return useQuery({
    queryKey: [CONNECTIONS, clientId, 'repositories', 'used'],
    meta: { dependsOn: ['workspaces', 'vcs-deliveries'] },
    enabled: clientId !== undefined && identifier !== '',
    queryFn: async ({ signal }) =>
      getData<PageOnWire<typeof vcsRepositorySchema>>(
        `/oauth-clients/${clientId}/vcs-repositories?page[size]=100`,
        signal,
      ),
    select: (repositories) => repositories.find(({ attributes }) => attributes.identifier === identifier)?.attributes,
  }).data
}

/** A picker's search for repositories of a connection. */
export function findConnectionRepositories(id: string) {
  return async (text: string, signal: AbortSignal): Promise<Choice[]> => {
    const path = `/oauth-clients/${id}/vcs-repositories?page[size]=100`
    const repositories = await getData<PageOnWire<typeof vcsRepositorySchema>>(path, signal)
    return repositories
      .map(({ attributes }) => ({ value: attributes.identifier, text: attributes['display-identifier'] }))
      .filter(({ text: name }) => name.toLowerCase().includes(text.toLowerCase()))
  }
}
