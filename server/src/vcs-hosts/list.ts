import type { ServiceProvider } from '@groundstate/contract/oauth-clients'
import { gitea } from './gitea/api.ts'
import { github, githubEnterprise } from './github/api.ts'
import type { Host } from './host.ts'

/** Hosts by the name of the service provider in the public API. */
export const HOSTS = {
  github,
  github_enterprise: githubEnterprise,
  gitea,
} as const satisfies Partial<Record<ServiceProvider, Host>>

export function hostOf(provider: ServiceProvider): Host {
  return HOSTS[provider]
}
