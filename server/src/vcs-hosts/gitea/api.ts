import { z } from 'zod'
import { ownerAndName, requireOwnerAndName } from '../bodies.ts'
import { type Host, type HostApi, type HostConnection, HostError, type HostRepository } from '../host.ts'
import { oauthOf } from '../oauth.ts'
import {
  type ApiHost,
  type ApiRequest,
  nextPage,
  parseResponse,
  readPages,
  requestJson,
  searchComments,
  undefinedIfMissing,
} from '../requests.ts'
import {
  branchSchema,
  commentSchema,
  foundRepositoriesSchema,
  hookSchema,
  listedCommentSchema,
  organizationSchema,
  pullRequestSchema,
  repositorySchema,
  userSchema,
} from './schemas.ts'
import { EVENTS, giteaWebhooks, pullRequestOf } from './webhooks.ts'

/** The default limit of the server. */
const PAGE_SIZE = 50
const MAX_BRANCHES = 100
/** Pages of branches to read for one search, since the API has none. */
const MAX_SEARCHED_PAGES = 20

type Input = Omit<ApiRequest, 'task' | 'url'> & {
  /** Segments of the path below the API's URL. */
  path: readonly (string | number)[]
  query?: Record<string, string | number>
}

export const gitea: Host = {
  name: 'Gitea',
  capabilities: {
    connectsBy: ['token', 'oauth'],
    needsUsername: false,
    createsWebhooks: true,
    listsRepositories: true,
    hasPullRequests: true,
    hasStatuses: true,
    comments: { maxLength: 60_000, rendersHtml: true },
  },
  addresses: (httpUrl) => (httpUrl === undefined ? null : { httpUrl, apiUrl: `${httpUrl}/api/v1` }),
  webhooks: giteaWebhooks,
  api: giteaApi,
  oauth: (connection) =>
    oauthOf({
      name: gitea.name,
      connection,
      authorizePath: '/login/oauth/authorize',
      tokenPath: '/login/oauth/access_token',
      // Before version 1.23, tokens have all permissions.
      scope: 'read:user read:organization write:repository write:issue',
    }),
  commitPath: '/commit/',
  repositoryUrls({ httpUrl }, identifier) {
    const page = `${httpUrl}/${identifier}`
    return { page, clone: `${page}.git`, ssh: `git@${new URL(httpUrl).hostname}:${identifier}.git` }
  },
  // A token is the password of any user name.
  gitCredential: ({ token, username }) => ({ username: username ?? 'token', password: token }),
}

function giteaApi(connection: HostConnection): HostApi {
  const host: ApiHost = {
    name: gitea.name,
    connection,
    headers: { authorization: `token ${connection.token}` },
  }

  async function ask<T>(task: string, schema: z.ZodType<T>, { path, query = {}, ...input }: Input) {
    const url = new URL(`${connection.apiUrl}/${path.map(encodeURIComponent).join('/')}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
    const { body, headers } = await requestJson(host, { task, ...input, url: url.href })
    return { data: parseResponse(host, schema, { task, body }), next: nextPage(headers.get('link')) }
  }

  const askUser = async () => (await ask('read the user of the token', userSchema, { path: ['user'] })).data

  const deleteWebhook: HostApi['deleteWebhook'] = async (identifier, id) => {
    await undefinedIfMissing(
      ask(`delete the webhook of ${identifier}`, z.unknown(), {
        method: 'DELETE',
        path: [...pathOf(identifier), 'hooks', id],
      }),
    )
  }

  return {
    readUser: async () => (await askUser()).login,

    async listRepositories({ query, page, size }) {
      // Without the user, the search would return every public repository of the server.
      const { id } = await askUser()
      const { data, next } = await ask('list repositories', foundRepositoriesSchema, {
        path: ['repos', 'search'],
        query: { q: query, uid: id, sort: 'alpha', order: 'asc', page, limit: size },
      })
      return { rows: data.data.map(repositoryOf), nextPage: next }
    },

    async listOwners() {
      const { login } = await askUser()
      const task = 'list organizations'
      const organizations = await readPages(task, async (page) =>
        ask(task, z.array(organizationSchema), { path: ['user', 'orgs'], query: { page, limit: PAGE_SIZE } }),
      )
      return [login, ...organizations.flatMap(({ name, username }) => name ?? username ?? [])]
    },

    async findRepository(identifier) {
      if (!ownerAndName(identifier)) return undefined
      const found = await undefinedIfMissing(
        ask(`read the repository ${identifier}`, repositorySchema, { path: pathOf(identifier) }),
      )
      return found && repositoryOf(found.data)
    },

    async listBranches(identifier, query) {
      const contains = ({ name }: { name: string }) => name.toLowerCase().includes(query.toLowerCase())
      const path = [...pathOf(identifier), 'branches']
      const task = `list branches of ${identifier}`
      let pages = 0
      const branches = await readPages(
        task,
        async (page) => ask(task, z.array(branchSchema), { path, query: { page, limit: PAGE_SIZE } }),
        { isEnough: (rows) => ++pages === MAX_SEARCHED_PAGES || rows.filter(contains).length >= MAX_BRANCHES },
      )
      return branches
        .filter(contains)
        .slice(0, MAX_BRANCHES)
        .map(({ name }) => name)
    },

    async createWebhook(identifier, { url, secret }) {
      const task = `create a webhook in ${identifier}`
      const path = [...pathOf(identifier), 'hooks']
      const existing = await undefinedIfMissing(
        readPages(task, async (page) => ask(task, z.array(hookSchema), { path, query: { page, limit: PAGE_SIZE } })),
      )
      if (!existing)
        throw new HostError(
          'forbidden',
          `Gitea does not let the token ${task}: it needs admin access to the repository`,
        )
      const settings = { url, secret, content_type: 'json' }
      const { data } = await ask(task, hookSchema, {
        method: 'POST',
        path,
        secrets: [secret],
        body: { type: 'gitea', active: true, events: EVENTS, config: settings },
      })
      // Old versions cannot change the secret of a webhook.
      for (const { id, config } of existing) if (config.url === url) await deleteWebhook(identifier, String(id))
      return String(data.id)
    },

    deleteWebhook,

    async listOpenPullRequests(identifier) {
      const path = [...pathOf(identifier), 'pulls']
      const task = `list pull requests of ${identifier}`
      const rows = await readPages(task, async (page) =>
        ask(task, z.array(pullRequestSchema), {
          path,
          query: { state: 'open', page, limit: PAGE_SIZE },
        }),
      )
      return rows.flatMap((row) => pullRequestOf(row) ?? [])
    },

    async findPullRequest(identifier, number) {
      const found = await undefinedIfMissing(
        ask(`read pull request ${number} of ${identifier}`, pullRequestSchema, {
          path: [...pathOf(identifier), 'pulls', number],
        }),
      )
      return found && pullRequestOf(found.data)
    },

    async setStatus(identifier, sha, { context, state, description, url }) {
      await ask(`set the status of ${sha} in ${identifier}`, z.unknown(), {
        method: 'POST',
        path: [...pathOf(identifier), 'statuses', sha],
        body: { context, state, description, target_url: url },
      })
    },

    async createComment(identifier, number, body) {
      const { data } = await ask(`comment on pull request ${number} of ${identifier}`, commentSchema, {
        method: 'POST',
        path: [...pathOf(identifier), 'issues', number, 'comments'],
        body: { body },
      })
      return String(data.id)
    },

    async updateComment(identifier, number, { id, body }) {
      const updated = await undefinedIfMissing(
        ask(`update the comment on pull request ${number} of ${identifier}`, commentSchema, {
          method: 'PATCH',
          path: [...pathOf(identifier), 'issues', 'comments', id],
          body: { body },
        }),
      )
      return updated !== undefined
    },

    async findComment(identifier, number, text) {
      const task = `list comments on pull request ${number} of ${identifier}`
      const path = [...pathOf(identifier), 'issues', number, 'comments']
      // Servers return all comments at once, the oldest first, until one divides them into pages.
      return searchComments({ task, text }, async (page) => {
        const { data, next } = await ask(task, z.array(listedCommentSchema), {
          path,
          query: { page, limit: PAGE_SIZE },
        })
        return { data: data.map(({ id, body }) => ({ id, text: body })), next }
      })
    },
  }
}

function pathOf(identifier: string) {
  const { owner, name } = requireOwnerAndName(identifier)
  return ['repos', owner, name]
}

function repositoryOf(body: z.infer<typeof repositorySchema>): HostRepository {
  return {
    identifier: body.full_name,
    displayIdentifier: body.full_name,
    page: body.html_url,
    clone: body.clone_url,
    ssh: body.ssh_url || null,
    defaultBranch: body.default_branch,
  }
}
