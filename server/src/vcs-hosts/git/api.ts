import type { Host } from '../host.ts'
import { gitWebhooks } from './webhooks.ts'

/** Any server that speaks git over https or ssh. It has no API: branches come from git, and users create the webhook. */
export const gitServer: Host = {
  name: 'the git server',
  capabilities: {
    connectsBy: ['token', 'ssh-key'],
    needsUsername: true,
    createsWebhooks: false,
    listsRepositories: false,
    hasPullRequests: false,
    hasStatuses: false,
    comments: null,
  },
  addresses: (httpUrl) => (httpUrl === undefined ? null : { httpUrl, apiUrl: httpUrl }),
  webhooks: gitWebhooks,
  api: null,
  oauth: null,
  commitPath: null,
  /** `httpUrl` may be that of a server with ssh only, such as `ssh://git@git.example.com:2222/srv`. */
  repositoryUrls({ httpUrl }, identifier) {
    const path = identifier.split('/').map(encodeURIComponent).join('/')
    const url = `${httpUrl}/${path}`
    // Whether the server has pages, and where, is unknown.
    if (httpUrl.startsWith('ssh://')) return { page: '', clone: url, ssh: url }
    const { hostname, pathname } = new URL(url)
    return { page: '', clone: url, ssh: `ssh://git@${hostname}${pathname}` }
  },
  gitCredential: ({ token, username }) => ({ username: username ?? 'git', password: token }),
}
