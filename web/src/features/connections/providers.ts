import { SERVICE_PROVIDERS, type ServiceProvider } from '@groundstate/contract/oauth-clients'

/** Ways to connect: an access token, an OAuth application, or a private key for ssh. */
export type AccessWay = 'token' | 'oauth' | 'ssh-key'

export const WAYS = {
  token: { text: 'Access token', about: 'Of a user or a bot of the host. The fastest way.' },
  oauth: { text: 'OAuth application', about: 'A person authorizes this server in the browser.' },
  'ssh-key': { text: 'SSH key', about: 'For servers that are reached through ssh only.' },
} as const satisfies Record<AccessWay, { text: string; about: string }>

type Provider = {
  text: string
  ways: readonly AccessWay[]
  /** An example of the address that the user has to enter; null if there is only one. */
  address: string | null
  /** The host's name for the token, with an article, and the permissions that it needs. */
  token: { name: string; permits: readonly string[]; note?: string; path: string | null }
  /** The host's name for the user of the token, where it needs one. */
  username?: string
  oauth?: { path: string; scopes?: string }
  /** The form of an identifier of a repository. */
  identifier: string
  /** The page of the documentation. */
  guide: string
  /** Whether it has an API: for lists of repositories, webhooks created by this server, and pull requests. */
  hasApi: boolean
}

const GITHUB: Provider = {
  text: 'GitHub',
  ways: ['token', 'oauth'],
  address: null,
  token: {
    name: 'a personal access token',
    permits: ['repo', 'admin:repo_hook', 'read:org'],
    note: 'A fine-grained token needs Contents and Metadata (read), and Webhooks, Commit statuses and Pull requests (read and write).',
    path: '/settings/tokens/new?description=Groundstate&scopes=repo,admin:repo_hook,read:org',
  },
  oauth: { path: '/settings/applications/new' },
  identifier: 'acme/network',
  guide: 'github',
  hasApi: true,
}
const GITLAB: Provider = {
  text: 'GitLab',
  ways: ['token', 'oauth'],
  address: null,
  token: {
    name: 'an access token',
    permits: ['api'],
    note: 'Its user needs the role Maintainer, to create webhooks.',
    path: '/-/user_settings/personal_access_tokens?name=Groundstate&scopes=api',
  },
  oauth: { path: '/-/user_settings/applications', scopes: 'api' },
  identifier: 'acme/platform/network',
  guide: 'gitlab',
  hasApi: true,
}
const GITLAB_SELF_MANAGED: Provider = { ...GITLAB, text: 'GitLab self-managed', address: 'https://gitlab.example.com' }
const BITBUCKET_DATA_CENTER: Provider = {
  text: 'Bitbucket Data Center',
  ways: ['token'],
  address: 'https://bitbucket.example.com',
  token: {
    name: 'an HTTP access token',
    permits: ['Repository admin'],
    note: 'Administration of the repository is needed to create webhooks.',
    path: '/plugins/servlet/access-tokens/manage',
  },
  username: 'Username',
  identifier: 'ACME/network',
  guide: 'bitbucket-data-center',
  hasApi: true,
}
const AZURE_DEVOPS: Provider = {
  text: 'Azure DevOps Services',
  ways: ['token'],
  address: null,
  token: {
    name: 'a personal access token',
    permits: ['Code (read & write)', 'Code (status)', 'Project and team (read)'],
    note: 'Its user has to be an administrator of the project, to create service hooks.',
    path: null,
  },
  identifier: 'acme/platform/_git/network',
  guide: 'azure-devops',
  hasApi: true,
}

/** The needs of each kind of host. Hosts of the same kind have different names in the API. */
export const PROVIDERS: Readonly<Record<ServiceProvider, Provider>> = {
  github: GITHUB,
  github_enterprise: { ...GITHUB, text: 'GitHub Enterprise', address: 'https://github.example.com' },
  gitlab_hosted: GITLAB,
  gitlab_community_edition: GITLAB_SELF_MANAGED,
  gitlab_enterprise_edition: GITLAB_SELF_MANAGED,
  bitbucket_hosted: {
    text: 'Bitbucket Cloud',
    ways: ['token', 'oauth'],
    address: null,
    token: {
      name: 'an API token with scopes',
      permits: [
        'read:user:bitbucket',
        'read:workspace:bitbucket',
        'read:repository:bitbucket',
        'write:repository:bitbucket',
        'read:pullrequest:bitbucket',
        'write:pullrequest:bitbucket',
        'read:webhook:bitbucket',
        'write:webhook:bitbucket',
        'delete:webhook:bitbucket',
      ],
      note: 'For an access token of a workspace, project or repository, the user is x-token-auth.',
      path: 'https://id.atlassian.com/manage-profile/security/api-tokens',
    },
    username: 'Email of the token’s user',
    oauth: { path: '/account/settings', scopes: 'Account, Repositories, Pull requests and Webhooks' },
    identifier: 'acme/network',
    guide: 'bitbucket-cloud',
    hasApi: true,
  },
  bitbucket_server: BITBUCKET_DATA_CENTER,
  bitbucket_server_legacy: BITBUCKET_DATA_CENTER,
  bitbucket_data_center: BITBUCKET_DATA_CENTER,
  ado_services: AZURE_DEVOPS,
  ado_server: {
    ...AZURE_DEVOPS,
    text: 'Azure DevOps Server',
    address: 'https://devops.example.com',
    identifier: 'DefaultCollection/platform/_git/network',
  },
  gitea: {
    text: 'Gitea and Forgejo',
    ways: ['token', 'oauth'],
    address: 'https://gitea.example.com',
    token: {
      name: 'an access token',
      permits: ['repository (read and write)', 'issue (read and write)', 'organization (read)', 'user (read)'],
      note: 'Its user has to be an administrator of the repository, to create webhooks.',
      path: '/user/settings/applications',
    },
    oauth: { path: '/user/settings/applications' },
    identifier: 'acme/network',
    guide: 'gitea',
    hasApi: true,
  },
  git: {
    text: 'Git server',
    ways: ['token', 'ssh-key'],
    address: 'https://git.example.com',
    token: { name: 'the password or a token of the user', permits: [], path: null },
    username: 'Username',
    identifier: 'acme/network.git',
    guide: 'git',
    hasApi: false,
  },
}

/** The kinds offered for a new connection, without older names of the same ones. */
export const OFFERED: readonly ServiceProvider[] = [
  'github',
  'github_enterprise',
  'gitlab_hosted',
  'gitlab_community_edition',
  'bitbucket_hosted',
  'bitbucket_data_center',
  'ado_services',
  'ado_server',
  'gitea',
  'git',
]

const SITES: Partial<Record<ServiceProvider, string>> = {
  github: 'https://github.com',
  gitlab_hosted: 'https://gitlab.com',
  bitbucket_hosted: 'https://bitbucket.org',
  ado_services: 'https://dev.azure.com',
}

/** The page of the host at `path`, below the address that the user has entered; undefined without one. */
export function hostPage(provider: ServiceProvider, httpUrl: string, path: string | null | undefined) {
  if (path === null || path === undefined) return undefined
  if (URL.canParse(path)) return path
  const site = SITES[provider] ?? httpUrl.trim().replace(/\/+$/, '')
  return /^https?:\/\/[^/]/.test(site) ? site + path : undefined
}

type Named = { attributes: { name: string | null; 'service-provider': ServiceProvider; 'http-url': string | null } }

/** The name of a connection; the host where it has none. */
export function connectionName({ attributes }: Named) {
  if (attributes.name) return attributes.name
  const { name } = SERVICE_PROVIDERS[attributes['service-provider']]
  const address = PROVIDERS[attributes['service-provider']].address === null ? null : attributes['http-url']
  return address === null ? name : `${name} at ${address.replace(/^\w+:\/\//, '')}`
}
