import type { CreateOAuthClient, ServiceProvider } from '@groundstate/contract/oauth-clients'
import { type AccessWay, PROVIDERS } from './providers.ts'

/** The values of a form. Secrets are write-only: an empty one stays as it is. */
export type ConnectionValues = {
  name: string
  httpUrl: string
  way: AccessWay
  token: string
  username: string
  key: string
  secret: string
  privateKey: string
  /** Empty if this server sends the requests. */
  poolId: string
  /** `organization`, or `selected` for that of some projects. */
  scope: string
  forks: boolean
  polling: boolean
}

export const NEW_CONNECTION: ConnectionValues = {
  name: '',
  httpUrl: '',
  way: 'token',
  token: '',
  username: '',
  key: '',
  secret: '',
  privateKey: '',
  poolId: '',
  scope: 'organization',
  forks: false,
  polling: false,
}

type Body = Pick<CreateOAuthClient, 'attributes'> & { relationships: Record<string, unknown> }

/** The body that creates a connection: only what its host and the way of access need. */
export function newConnectionBody(
  provider: ServiceProvider,
  values: ConnectionValues,
  projectIds: readonly string[],
): Body {
  const { name, httpUrl, poolId, scope, forks, polling } = values
  return {
    attributes: {
      'service-provider': provider,
      ...(name.trim() !== '' && { name: name.trim() }),
      ...(PROVIDERS[provider].address !== null && httpUrl.trim() !== '' && { 'http-url': httpUrl.trim() }),
      ...accessAttributes(provider, values),
      'organization-scoped': scope === 'organization',
      'fork-plans-enabled': forks,
      'polling-enabled': polling,
    },
    relationships: {
      ...(poolId !== '' && { 'agent-pool': poolRelation(poolId) }),
      ...(scope === 'selected' && { projects: { data: projectIds.map((id) => ({ type: 'projects', id })) } }),
    },
  }
}

/** The credentials; empty values are left out, since the server keeps what is absent. */
export function accessAttributes(provider: ServiceProvider, values: Omit<ConnectionValues, 'scope'>) {
  const { way, token, username, key, secret, privateKey } = values
  if (way === 'oauth')
    return { ...(key.trim() !== '' && { key: key.trim() }), ...(secret.trim() !== '' && { secret: secret.trim() }) }
  if (way === 'ssh-key') return privateKey.trim() === '' ? {} : { 'private-key': privateKey }
  return {
    ...(token.trim() !== '' && { 'oauth-token-string': token.trim() }),
    ...(PROVIDERS[provider].username !== undefined &&
      username.trim() !== '' && { 'oauth-token-username': username.trim() }),
  }
}

export function poolRelation(id: string) {
  return { data: id === '' ? null : { type: 'agent-pools', id } }
}
