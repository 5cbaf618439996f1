import { documentOf, pageOf } from '@groundstate/contract/responses'
import {
  type VcsRepositoryResource,
  vcsRepositorySchema,
  webhookSecretSchema,
} from '@groundstate/contract/vcs-repositories'
import type { Routes } from '../../../http/http.ts'
import { accepted, ok, unstored } from '../../../http/responses.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import * as service from './service.ts'
import type { UsedRepository } from './store.ts'

const MANAGE = { access: { organization: 'vcs-settings:manage' } } as const

export const vcsRepositoryRoutes: Routes = (http) => {
  http.get(
    '/oauth-clients/:id/vcs-repositories',
    {
      summary: 'List the repositories that workspaces use through a connection',
      access: { organization: 'vcs-settings:read' },
      responses: { 200: pageOf(vcsRepositorySchema) },
    },
    async (req) => {
      const { rows, total, webhookUrl } = await service.listUsedRepositories(req.ctx, req.params.id, req.page())
      return req.list({ rows, total }, (row) => repositoryResource(row, webhookUrl))
    },
  )
  http.post(
    '/vcs-repositories/:id/actions/register-webhook',
    {
      ...MANAGE,
      summary: 'Ask the host about a repository again, and create its webhook there',
      audit: 'vcs_repository register_webhook',
      responses: { 202: null },
    },
    async (req) => {
      await service.registerAgain(req.ctx, req.params.id)
      return accepted()
    },
  )
  http.post(
    '/vcs-repositories/:id/actions/rotate-webhook-secret',
    {
      ...MANAGE,
      summary: 'Replace the secret of a webhook that users create on the host',
      audit: 'vcs_repository rotate_webhook_secret',
      responses: { 200: documentOf(webhookSecretSchema) },
    },
    async (req) => {
      const { id } = req.params
      const attributes = await service.rotateWebhookSecret(req.ctx, id)
      return unstored(ok({ id, type: 'webhook-secrets', attributes }))
    },
  )
}

function repositoryResource(
  row: UsedRepository,
  webhookUrl: ((row: UsedRepository) => string) | undefined,
): VcsRepositoryResource {
  return {
    id: row.id,
    type: 'vcs-repositories',
    attributes: {
      identifier: row.identifier,
      'display-identifier': row.display_identifier,
      'page-url': row.page_url || null,
      'default-branch': row.default_branch,
      'created-at': row.created_at,
      'webhook-status': webhookStatus(row),
      'webhook-error': row.read_error ?? row.webhook_error,
      'webhook-url': webhookUrl?.(row) ?? null,
      'workspace-count': row.workspace_count,
      'last-delivery-at': row.last_delivery_at,
      'polled-at': row.polled_at,
    },
    relationships: {
      'oauth-client': {
        data: row.oauth_client_id === null ? null : { id: row.oauth_client_id, type: 'oauth-clients' },
      },
    },
    links: { self: `/api/v2/vcs-repositories/${row.id}` },
  }
}

function webhookStatus(row: UsedRepository) {
  if (row.oauth_token_id === null) return 'app'
  if (!hostOf(row.service_provider).capabilities.createsWebhooks) return 'by-hand'
  if (row.read_error !== null || row.webhook_error !== null) return 'failed'
  return row.webhook_id === null ? 'pending' : 'created'
}
