import { randomBytes } from 'node:crypto'
import type { WebhookSecretResource } from '@groundstate/contract/vcs-repositories'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import type { Page } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { listReadableOrganizations, requirePart } from '../../organizations/organizations/access.ts'
import { requireOAuthClient } from '../../vcs/oauth-clients/access.ts'
import { repositoryAdded, webhookContext } from '../../vcs/repositories/service.ts'
import { webhookUrl } from '../../vcs/repositories/webhook-url.ts'
import { type RepositoryRow, findRepository } from '../git/store.ts'
import * as store from './store.ts'

/** The repositories of a connection. `webhookUrl` is undefined for callers that may not manage connections. */
export async function listUsedRepositories(ctx: Ctx, clientId: string, page: Page) {
  const client = await requireOAuthClient(ctx, clientId, 'vcs-settings:read')
  const [organization] = await listReadableOrganizations(ctx, [client.organization_id])
  const mayManage = organization?.can.has('vcs-settings:manage') === true
  const list = await store.listUsedRepositories(ctx.db, clientId, page)
  return { ...list, webhookUrl: mayManage ? (row: { webhook_path: string }) => webhookUrl(ctx, row) : undefined }
}

async function requireUsedRepository(ctx: Ctx, id: string) {
  const access = { noun: 'repository', read: 'vcs-settings:read', permission: 'vcs-settings:manage' } as const
  return requirePart(ctx, await findRepository(ctx.db, id), access)
}

/** Has the host asked again, after somebody has corrected what it refused. Throws `conflict` for a host whose webhooks users create. */
export async function registerAgain(ctx: Ctx, id: string) {
  const repository = await requireUsedRepository(ctx, id)
  const { name, capabilities } = hostOf(repository.service_provider)
  if (!capabilities.createsWebhooks)
    throw conflict(
      `${name} has no API to create webhooks: create it there with the repository's webhook-url and a secret of actions/rotate-webhook-secret`,
    )
  await audited(ctx, repositoryAudit(repository, 'register_webhook'), async (ctx) => {
    await store.updateRepository(ctx.db, id, { webhook_error: null })
    await raise(ctx, repositoryAdded, { repositoryId: id })
  })
}

/**
 * Replaces the secret of a webhook; requests signed with the old one are refused from then on. Throws `conflict` for a webhook that this
 * server has created, since the host would keep the old secret.
 */
export async function rotateWebhookSecret(ctx: Ctx, id: string): Promise<WebhookSecretResource['attributes']> {
  const repository = await requireUsedRepository(ctx, id)
  if (repository.webhook_id !== null)
    throw conflict(`the webhook of ${repository.identifier} was created by this server, which knows its secret`)
  const secret = randomBytes(32).toString('hex')
  await audited(ctx, repositoryAudit(repository, 'rotate_webhook_secret'), async (ctx) =>
    store.updateRepository(ctx.db, id, { webhook_secret: ctx.secrets.seal(secret, webhookContext(id)) }),
  )
  return { secret, 'webhook-url': webhookUrl(ctx, repository) }
}

function repositoryAudit(repository: RepositoryRow, action: string): AuditEvent {
  const { id, identifier, organization_id: organizationId, oauth_client_id: clientId } = repository
  const resource = { type: 'vcs_repository', id }
  const notices = clientId === null ? [] : [{ type: 'oauth-clients' as const, id: clientId }]
  return { organizationId, action, resource, meta: { name: identifier }, notices }
}
