import {
  type OAuthClientResource,
  type OAuthTokenResource,
  SERVICE_PROVIDERS,
} from '@groundstate/contract/oauth-clients'
import { hostOf } from '../../../vcs-hosts/list.ts'
import type { AffectedWorkspaces, OAuthClientRow, OAuthTokenRow } from './store.ts'

type Shown = { baseUrl: string; affected?: AffectedWorkspaces | undefined }

export function oauthClientResource(row: OAuthClientRow, { baseUrl, affected }: Shown): OAuthClientResource {
  const provider = row.service_provider
  const authorization = `/auth/${row.uuid}`
  const isConnected = row.token_ids.length > 0
  const { name, oauth } = hostOf(provider)
  return {
    id: row.id,
    type: 'oauth-clients',
    attributes: {
      name: row.name,
      'created-at': row.created_at,
      'updated-at': row.updated_at,
      'service-provider': provider,
      'service-provider-display-name': SERVICE_PROVIDERS[provider].name,
      'http-url': row.http_url,
      'api-url': row.api_url,
      'callback-url': `${baseUrl}${authorization}/callback`,
      'connect-path': !oauth || row.key === null || (isConnected && row.failure === null) ? null : authorization,
      key: row.key,
      secret: null,
      'rsa-public-key': row.rsa_public_key,
      'ado-entra-tenant-id': row.ado_entra_tenant_id,
      uuid: row.uuid,
      'organization-scoped': row.organization_scoped,
      ...(affected && {
        'affected-workspaces': affected.names,
        'affected-workspaces-count': affected.count,
        'last-delivery-at': affected.last_delivery_at,
      }),
      'fork-plans-enabled': row.fork_plans_enabled,
      'polling-enabled': row.polling_enabled,
      status: isConnected ? (row.failure === null ? 'connected' : 'failed') : 'pending',
      'status-message':
        isConnected || oauth
          ? (row.failure ?? unreachableMessage(row))
          : `${name} is connected by an access token: set oauth-token-string`,
      'blocked-until': row.blocked_until,
    },
    relationships: {
      organization: { data: { id: row.organization_name, type: 'organizations' } },
      'agent-pool': { data: row.agent_pool_id === null ? null : { id: row.agent_pool_id, type: 'agent-pools' } },
      projects: { data: row.project_ids.map((id) => ({ id, type: 'projects' })) },
      'oauth-tokens': { data: row.token_ids.map((id) => ({ id, type: 'oauth-tokens' })) },
    },
    links: { self: `/api/v2/oauth-clients/${row.id}` },
  }
}

function unreachableMessage({ unreachable }: OAuthClientRow) {
  if (unreachable === null) return null
  return `the host could not be reached since ${new Date(unreachable.since).toISOString()}: ${unreachable.message}`
}

export function oauthTokenResource(row: OAuthTokenRow): OAuthTokenResource {
  const self = `/api/v2/oauth-tokens/${row.id}`
  return {
    id: row.id,
    type: 'oauth-tokens',
    attributes: {
      'created-at': row.created_at,
      'service-provider-user': row.service_provider_user,
      'has-ssh-key': row.has_ssh_key,
    },
    relationships: {
      'oauth-client': { data: { id: row.oauth_client_id, type: 'oauth-clients' } },
      'vcs-organizations': { links: { related: `${self}/vcs-organizations` } },
    },
    links: { self },
  }
}
