import { z } from 'zod'
import { type Host, type HostApi, type HostConnection, HostError } from '../host.ts'
import {
  createRequests,
  nextPage,
  ownerAndName,
  parsedJson,
  readPages,
  requireOwnerAndName,
  undefinedIfMissing,
} from '../requests.ts'
import {
  account,
  branchList,
  foundRepositories,
  hostPullRequest,
  hostRepository,
  organizationList,
  pullRequest,
  repository,
  webhookList,
  withId,
} from './schemas.ts'
import { EVENTS, webhooks } from './webhooks.ts'

/** The default limit of the server. */
const PAGE_SIZE = 50
const MAX_BRANCHES = 100
/** Pages of branches to read for one search, since the API has none. */
const MAX_SEARCHED_PAGES = 20

type Call = {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Segments of the path below the API's URL. */
  path: readonly (string | number)[]
  query?: Record<string, string | number>
  body?: unknown
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
    hasComments: true,
  },
  addresses: (httpUrl) => (httpUrl === undefined ? null : { httpUrl, apiUrl: `${httpUrl}/api/v1` }),
  webhooks,
  api,
  repositoryUrls({ httpUrl }, identifier) {
    const page = `${httpUrl}/${identifier}`
    return { page, clone: `${page}.git`, ssh: `git@${new URL(httpUrl).hostname}:${identifier}.git` }
  },
  // A token is the password of any user name.
  gitCredential: ({ token, username }) => ({ username: username ?? 'token', password: token }),
}

function api(connection: HostConnection): HostApi {
  const requests = createRequests('Gitea', connection)

  async function ask<Schema extends z.ZodType>(
    task: string,
    schema: Schema,
    { method = 'GET', path, query = {}, body }: Call,
  ) {
    const url = new URL(`${connection.apiUrl}/${path.map(encodeURIComponent).join('/')}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
    const response = await requests.fetchFor(task)(url, {
      method,
      headers: {
        accept: 'application/json',
        authorization: `token ${connection.token}`,
        'user-agent': 'groundstate',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    })
    const content = await response.text().catch(() => '')
    return {
      data: requests.parse(task, schema, parsedJson(content)),
      next: nextPage(response.headers.get('link')),
    }
  }

  const askUser = async () => (await ask('read the user of the token', account, { path: ['user'] })).data

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
      const { data, next } = await ask('list repositories', foundRepositories, {
        path: ['repos', 'search'],
        query: { q: query, uid: id, sort: 'alpha', order: 'asc', page, limit: size },
      })
      return { rows: data.data.map(hostRepository), nextPage: next }
    },

    async listOwners() {
      const { login } = await askUser()
      const task = 'list organizations'
      const organizations = await readPages(task, async (page) =>
        ask(task, organizationList, { path: ['user', 'orgs'], query: { page, limit: PAGE_SIZE } }),
      )
      return [login, ...organizations.flatMap(({ name, username }) => name ?? username ?? [])]
    },

    async findRepository(identifier) {
      if (!ownerAndName(identifier)) return undefined
      const found = await undefinedIfMissing(
        ask(`read the repository ${identifier}`, repository, { path: pathOf(identifier) }),
      )
      return found && hostRepository(found.data)
    },

    async listBranches(identifier, query) {
      const contains = ({ name }: { name: string }) => name.toLowerCase().includes(query.toLowerCase())
      const path = [...pathOf(identifier), 'branches']
      const task = `list branches of ${identifier}`
      let pages = 0
      const branches = await readPages(
        task,
        async (page) => ask(task, branchList, { path, query: { page, limit: PAGE_SIZE } }),
        (rows) => ++pages === MAX_SEARCHED_PAGES || rows.filter(contains).length >= MAX_BRANCHES,
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
        readPages(task, async (page) => ask(task, webhookList, { path, query: { page, limit: PAGE_SIZE } })),
      )
      if (!existing)
        throw new HostError(
          'forbidden',
          `Gitea does not let the token ${task}: it needs admin access to the repository`,
        )
      const settings = { url, secret, content_type: 'json' }
      const { data } = await ask(task, withId, {
        method: 'POST',
        path,
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
        ask(task, z.array(pullRequest), {
          path,
          query: { state: 'open', page, limit: PAGE_SIZE },
        }),
      )
      return rows.flatMap((row) => hostPullRequest(row) ?? [])
    },

    async findPullRequest(identifier, number) {
      const found = await undefinedIfMissing(
        ask(`read pull request ${number} of ${identifier}`, pullRequest, {
          path: [...pathOf(identifier), 'pulls', number],
        }),
      )
      return found && hostPullRequest(found.data)
    },

    async setStatus(identifier, sha, { context, state, description, url }) {
      await ask(`set the status of ${sha} in ${identifier}`, z.unknown(), {
        method: 'POST',
        path: [...pathOf(identifier), 'statuses', sha],
        body: { context, state, description, target_url: url },
      })
    },

    async putComment(identifier, number, { id, body }) {
      const task = `comment on pull request ${number} of ${identifier}`
      const path = [...pathOf(identifier), 'issues']
      const updated =
        id === null
          ? undefined
          : await undefinedIfMissing(
              ask(task, withId, { method: 'PATCH', path: [...path, 'comments', id], body: { body } }),
            )
      const { data } =
        updated ?? (await ask(task, withId, { method: 'POST', path: [...path, number, 'comments'], body: { body } }))
      return String(data.id)
    },
  }
}

function pathOf(identifier: string) {
  const { owner, name } = requireOwnerAndName(identifier)
  return ['repos', owner, name]
}
