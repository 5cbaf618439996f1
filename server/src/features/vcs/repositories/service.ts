import { randomBytes, randomUUID } from 'node:crypto'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { domainEvent, raise } from '../../../events.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { type Host, HostError } from '../../../vcs-hosts/host.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import * as store from './store.ts'

/** A repository to use, and the project of the workspace that will; null for modules and policy sets, which belong to none. */
export type RepositoryRequest = {
  organizationId: string
  projectId: string | null
  connection: store.ConnectionKey
  identifier: string
}

const POINTER = '/data/attributes/vcs-repo'

/**
 * Throws `invalid` for a connection that the organization does not have or that is not for the project, and for an identifier that the
 * host cannot have. Whether the host has the repository is asked later.
 */
export async function checkRepository(ctx: Ctx, { connection, ...request }: RepositoryRequest) {
  const [id, name] =
    'tokenId' in connection
      ? [connection.tokenId, 'oauth-token-id']
      : [connection.installationId, 'github-app-installation-id']
  const found = await store.findConnectionFor(ctx.db, request, connection)
  if (!found) throw invalid(`the organization has no ${name} ${id}`, `${POINTER}/${name}`)
  if (!found.is_open)
    throw invalid(
      request.projectId === null
        ? `the connection of ${id} is for workspaces of some projects: use one of all projects`
        : `the connection of ${id} is for workspaces of other projects: add this project to it`,
      `${POINTER}/${name}`,
    )
  const host = hostOf(found.service_provider)
  return { host, urls: urlsOf(host, { httpUrl: found.http_url, identifier: request.identifier }) }
}

/** Throws `invalid` for an identifier that the host cannot have, whose segments would become parts of other URLs. */
function urlsOf(host: Host, { httpUrl, identifier }: { httpUrl: string; identifier: string }) {
  const segments = identifier.split('/')
  const isPath = segments.every((segment) => /^[^\p{Cc}?#\\]+$/u.test(segment) && !/^\.{1,2}$/.test(segment))
  try {
    if (isPath && (host.api === null || segments.length > 1)) return host.repositoryUrls({ httpUrl }, identifier)
  } catch (error) {
    if (!(error instanceof HostError)) throw error
    throw invalid(error.message, `${POINTER}/identifier`)
  }
  const expected = host.api === null ? 'a path such as infra/network.git' : `owner and name, as ${host.name} has them`
  throw invalid(`identifier ${identifier} is no repository: it must be ${expected}`, `${POINTER}/identifier`)
}

/** Returns the id of the repository, which becomes known with its first use. */
export async function putRepository(ctx: TransactionCtx, request: RepositoryRequest): Promise<string> {
  const { organizationId, connection, identifier } = request
  const { urls } = await checkRepository(ctx, request)
  const id = ctx.newId('repo')
  const known = await store.putRepository(ctx.db, {
    id,
    organization_id: organizationId,
    oauth_token_id: 'tokenId' in connection ? connection.tokenId : null,
    github_app_installation_id: 'installationId' in connection ? connection.installationId : null,
    identifier,
    display_identifier: identifier,
    page_url: urls.page,
    clone_url: urls.clone,
    ssh_url: urls.ssh,
    webhook_path: randomUUID(),
    webhook_secret: ctx.secrets.seal(randomBytes(32).toString('hex'), webhookContext(id)),
    created_at: ctx.now(),
  })
  if (known === id) await raise(ctx, repositoryAdded, { repositoryId: id })
  return known
}

/** The context in which the secret of a repository's webhook is sealed. */
export function webhookContext(id: string) {
  return sealedWebhookSecret.context({ id })
}

export const sealedWebhookSecret = sealedColumn(
  'repositories.webhook_secret',
  ['id'],
  ({ id }) => `repositories/${id}/webhook-secret`,
)

/** Raised in the transaction that adds a repository, or for which somebody tries again: its host has to be asked about it, and to get a webhook. */
export const repositoryAdded = domainEvent<{ repositoryId: string }>('repository.added')

/** Raised in the transaction in which a workspace, module or policy set stops using a repository. */
export const repositoryLeft = domainEvent<{ repositoryId: string }>('repository.left')
