import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import { azureDevops, azureDevopsServer } from './azure-devops/api.ts'
import { bitbucketCloud } from './bitbucket-cloud/api.ts'
import { bitbucketDataCenter } from './bitbucket-data-center/api.ts'
import { gitServer } from './git/api.ts'
import { gitea } from './gitea/api.ts'
import { github, githubEnterprise } from './github/api.ts'
import { gitlab, gitlabSelfManaged } from './gitlab/api.ts'
import type { Host } from './host.ts'

const HOSTS = {
  github,
  github_enterprise: githubEnterprise,
  gitlab_hosted: gitlab,
  gitlab_community_edition: gitlabSelfManaged,
  gitlab_enterprise_edition: gitlabSelfManaged,
  bitbucket_hosted: bitbucketCloud,
  bitbucket_server: bitbucketDataCenter,
  bitbucket_server_legacy: bitbucketDataCenter,
  bitbucket_data_center: bitbucketDataCenter,
  ado_services: azureDevops,
  ado_server: azureDevopsServer,
  gitea,
  git: gitServer,
} as const satisfies Record<ServiceProvider, Host>

/** The host of a kind of connection. */
export function hostOf(provider: ServiceProvider): Host {
  return HOSTS[provider]
}

/** The page of a commit; empty if the host has none. */
export function commitPage(repository: { service_provider: ServiceProvider; page_url: string }, sha: string) {
  const { service_provider: provider, page_url: page } = repository
  const { commitPath } = hostOf(provider)
  return commitPath === null || page === '' ? '' : `${page}${commitPath}${sha}`
}
