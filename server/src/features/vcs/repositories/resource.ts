import type { WorkspaceRepository } from './store.ts'

/**
 * The members of `vcs-repo` that follow from the repository. `webhookUrl` is null for callers that may not set the webhook up.
 */
export function repositoryAttributes(repository: WorkspaceRepository, webhookUrl: string | null) {
  return {
    identifier: repository.identifier,
    'display-identifier': repository.display_identifier,
    ...(repository.token_id !== null && { 'oauth-token-id': repository.token_id }),
    ...(repository.installation_id !== null && { 'github-app-installation-id': repository.installation_id }),
    'repository-http-url': repository.page_url,
    'service-provider': repository.service_provider,
    'webhook-url': webhookUrl,
  }
}
