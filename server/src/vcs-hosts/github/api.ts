import { Octokit } from '@octokit/rest'
import { z } from 'zod'
import { ownerAndName, requireOwnerAndName } from '../bodies.ts'
import { type Host, type HostApi, type HostConnection, HostError, type HostPage, type HostRepository } from '../host.ts'
import { oauthOf } from '../oauth.ts'
import {
  type ApiHost,
  fetchFor,
  nextPage,
  parseResponse,
  readPages,
  searchComments,
  type Task,
  undefinedIfMissing,
} from '../requests.ts'
import {
  branchSchema,
  commentSchema,
  hookSchema,
  installationRepositoriesSchema,
  listedCommentSchema,
  pullRequestSchema,
  repositorySchema,
  userSchema,
} from './schemas.ts'
import { EVENTS, githubWebhooks, pullRequestOf } from './webhooks.ts'

const PAGE_SIZE = 100
/** Pages of repositories or branches to read for one search, since the API has no search by a part of the name. */
const MAX_SEARCHED_PAGES = 10
const MAX_BRANCHES = 100
const MAX_DESCRIPTION_LENGTH = 140

/** Sends a request and parses the body of the response. */
export type Ask = <T>(
  task: string,
  schema: z.ZodType<T>,
  request: Pick<Task, 'secrets'> & { route: string; parameters?: Record<string, unknown> },
) => Promise<{ data: T; next: number | null }>

export const github: Host = githubHost('GitHub', (httpUrl) => {
  const url = new URL(httpUrl ?? 'https://github.com')
  // With data residency, an enterprise has a subdomain of ghe.com.
  return { httpUrl: httpUrl ?? url.origin, apiUrl: `${url.protocol}//api.${url.host}` }
})

export const githubEnterprise: Host = githubHost('GitHub Enterprise', (httpUrl) =>
  httpUrl === undefined ? null : { httpUrl, apiUrl: `${httpUrl}/api/v3` },
)

function githubHost(name: string, addresses: Host['addresses']): Host {
  return {
    name,
    capabilities: {
      connectsBy: ['token', 'oauth', 'app'],
      needsUsername: false,
      createsWebhooks: true,
      listsRepositories: true,
      hasPullRequests: true,
      hasStatuses: true,
      comments: { maxLength: 60_000, rendersHtml: true },
    },
    addresses,
    webhooks: githubWebhooks,
    api: (connection) => githubApi(name, connection),
    oauth: (connection) =>
      oauthOf({
        name,
        connection,
        authorizePath: '/login/oauth/authorize',
        tokenPath: '/login/oauth/access_token',
        // GitHub Apps ignore scopes.
        scope: 'repo read:org',
      }),
    commitPath: '/commit/',
    repositoryUrls({ httpUrl }, identifier) {
      const page = `${httpUrl}/${identifier}`
      return { page, clone: `${page}.git`, ssh: `git@${new URL(httpUrl).hostname}:${identifier}.git` }
    },
    // Access tokens of all kinds are passwords of any user name.
    gitCredential: ({ token }) => ({ username: 'x-access-token', password: token }),
  }
}

function githubApi(name: string, connection: HostConnection): HostApi {
  const octokit = createOctokit(connection)
  octokit.hook.before('request', (options) => {
    options.headers.authorization = `token ${connection.token}`
  })
  const ask = createAsk(octokit, { name, connection })
  const readUser = async () => (await ask('read the user of the token', userSchema, { route: 'GET /user' })).data.login
  return {
    ...repositoryApi(ask),
    readUser,
    listRepositories: async (input) =>
      searchRepositories(input, async (page) =>
        ask('list repositories', z.array(repositorySchema), {
          route: 'GET /user/repos',
          parameters: { sort: 'full_name', per_page: input.size, page },
        }),
      ),
    async listOwners() {
      const organizations = await readPages('list organizations', async (page) =>
        ask('list organizations', z.array(userSchema), {
          route: 'GET /user/orgs',
          parameters: { per_page: PAGE_SIZE, page },
        }),
      )
      return [await readUser(), ...organizations.map(({ login }) => login)]
    },
  }
}

/** The API with the token of an installation of a GitHub App. `readUser` returns the account that has installed it. */
export function installationApi(ask: Ask, readUser: () => Promise<string>): HostApi {
  return {
    ...repositoryApi(ask),
    readUser,
    listOwners: async () => [await readUser()],
    listRepositories: async (input) =>
      searchRepositories(input, async (page) => {
        const { data, next } = await ask('list repositories', installationRepositoriesSchema, {
          route: 'GET /installation/repositories',
          parameters: { per_page: input.size, page },
        })
        return { data: data.repositories, next }
      }),
  }
}

/** Without the library's own log, which writes to the console. */
export function createOctokit({ apiUrl, fetch }: Pick<HostConnection, 'apiUrl' | 'fetch'>) {
  const ignore = () => undefined
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  return new Octokit({ baseUrl: apiUrl, userAgent: 'groundstate', log, request: { fetch } })
}

export function createAsk(octokit: Octokit, host: ApiHost): Ask {
  return async (task, schema, { route, parameters, secrets }) => {
    const { data, headers } = await octokit
      .request(route, { ...parameters, request: { fetch: fetchFor(host, { task, secrets }) } })
      .catch(rethrowHostError)
    const body: unknown = data
    return { data: parseResponse(host, schema, { task, secrets, body }), next: nextPage(headers.link) }
  }
}

/** The library wraps errors of `fetch` in another one, which has the body of the request and so the secrets in it. */
function rethrowHostError(error: unknown): never {
  throw error instanceof Error && error.cause instanceof HostError ? error.cause : error
}

async function searchRepositories(
  { query, page, size }: { query: string; page: number; size: number },
  read: (page: number) => Promise<{ data: z.infer<typeof repositorySchema>[]; next: number | null }>,
): Promise<HostPage<HostRepository>> {
  const rows: HostRepository[] = []
  let current: number | null = page
  for (let count = 0; current !== null && count < MAX_SEARCHED_PAGES; count++) {
    const { data, next }: { data: z.infer<typeof repositorySchema>[]; next: number | null } = await read(current)
    const found = data.filter(({ full_name: name }) => name.toLowerCase().includes(query.toLowerCase()))
    // The page is read again for the next one.
    if (rows.length > 0 && rows.length + found.length > size) break
    rows.push(...found.slice(0, size).map(repositoryOf))
    current = next
    if (rows.length === size || query === '') break
  }
  return { rows, nextPage: current }
}

type RepositoryApi = Omit<HostApi, 'readUser' | 'listOwners' | 'listRepositories'>

function repositoryApi(ask: Ask): RepositoryApi {
  return {
    async findRepository(identifier) {
      const path = ownerAndName(identifier)
      if (!path) return undefined
      const found = await undefinedIfMissing(
        ask(`read the repository ${identifier}`, repositorySchema, {
          route: 'GET /repos/{owner}/{name}',
          parameters: path,
        }),
      )
      return found && repositoryOf(found.data)
    },

    async listBranches(identifier, query) {
      const contains = ({ name }: { name: string }) => name.toLowerCase().includes(query.toLowerCase())
      const task = `list branches of ${identifier}`
      let pages = 0
      const branches = await readPages(
        task,
        async (page) =>
          ask(task, z.array(branchSchema), {
            route: 'GET /repos/{owner}/{name}/branches',
            parameters: { ...requireOwnerAndName(identifier), per_page: PAGE_SIZE, page },
          }),
        { isEnough: (rows) => ++pages === MAX_SEARCHED_PAGES || rows.filter(contains).length >= MAX_BRANCHES },
      )
      return branches
        .filter(contains)
        .slice(0, MAX_BRANCHES)
        .map(({ name }) => name)
    },

    async createWebhook(identifier, { url, secret }) {
      const task = `create a webhook in ${identifier}`
      const path = requireOwnerAndName(identifier)
      const existing = await undefinedIfMissing(
        readPages(task, async (page) =>
          ask(task, z.array(hookSchema), {
            route: 'GET /repos/{owner}/{name}/hooks',
            parameters: { ...path, per_page: PAGE_SIZE, page },
          }),
        ),
      )
      if (!existing) {
        // GitHub hides the webhooks of a repository from those who may not manage them.
        throw new HostError(
          'forbidden',
          `GitHub does not let the token ${task}: it needs admin access to the repository, and the scope admin:repo_hook or the permission Webhooks`,
        )
      }
      const same = existing.find(({ config }) => config.url === url)
      const settings = {
        ...path,
        active: true,
        events: [...EVENTS],
        config: { url, secret, content_type: 'json', insecure_ssl: '0' },
      }
      const { data } = await ask(
        task,
        hookSchema,
        same
          ? {
              route: 'PATCH /repos/{owner}/{name}/hooks/{hook_id}',
              parameters: { ...settings, hook_id: same.id },
              secrets: [secret],
            }
          : { route: 'POST /repos/{owner}/{name}/hooks', parameters: settings, secrets: [secret] },
      )
      return String(data.id)
    },

    async deleteWebhook(identifier, id) {
      await undefinedIfMissing(
        ask(`delete the webhook of ${identifier}`, z.unknown(), {
          route: 'DELETE /repos/{owner}/{name}/hooks/{hook_id}',
          parameters: { ...requireOwnerAndName(identifier), hook_id: id },
        }),
      )
    },

    async listOpenPullRequests(identifier) {
      const task = `list pull requests of ${identifier}`
      const rows = await readPages(task, async (page) =>
        ask(task, z.array(pullRequestSchema), {
          route: 'GET /repos/{owner}/{name}/pulls',
          parameters: { ...requireOwnerAndName(identifier), state: 'open', per_page: PAGE_SIZE, page },
        }),
      )
      return rows.map(pullRequestOf)
    },

    async findPullRequest(identifier, number) {
      const found = await undefinedIfMissing(
        ask(`read pull request ${number} of ${identifier}`, pullRequestSchema, {
          route: 'GET /repos/{owner}/{name}/pulls/{pull_number}',
          parameters: { ...requireOwnerAndName(identifier), pull_number: number },
        }),
      )
      return found && pullRequestOf(found.data)
    },

    async setStatus(identifier, sha, { context, state, description, url }) {
      await ask(`set the status of ${sha} in ${identifier}`, z.unknown(), {
        route: 'POST /repos/{owner}/{name}/statuses/{sha}',
        parameters: {
          ...requireOwnerAndName(identifier),
          sha,
          context,
          state,
          description: description.slice(0, MAX_DESCRIPTION_LENGTH),
          target_url: url,
        },
      })
    },

    async createComment(identifier, number, body) {
      const { data } = await ask(`comment on pull request ${number} of ${identifier}`, commentSchema, {
        route: 'POST /repos/{owner}/{name}/issues/{issue_number}/comments',
        parameters: { ...requireOwnerAndName(identifier), issue_number: number, body },
      })
      return String(data.id)
    },

    async updateComment(identifier, number, { id, body }) {
      const updated = await undefinedIfMissing(
        ask(`update the comment on pull request ${number} of ${identifier}`, commentSchema, {
          route: 'PATCH /repos/{owner}/{name}/issues/comments/{comment_id}',
          parameters: { ...requireOwnerAndName(identifier), comment_id: id, body },
        }),
      )
      return updated !== undefined
    },

    async findComment(identifier, number, text) {
      const task = `list comments on pull request ${number} of ${identifier}`
      const parameters = { ...requireOwnerAndName(identifier), issue_number: number, per_page: PAGE_SIZE }
      // The oldest are first: GitHub sorts only the comments of a whole repository.
      return searchComments({ task, text }, async (page) => {
        const { data, next } = await ask(task, z.array(listedCommentSchema), {
          route: 'GET /repos/{owner}/{name}/issues/{issue_number}/comments',
          parameters: { ...parameters, page },
        })
        return { data: data.map(({ id, body }) => ({ id, text: body })), next }
      })
    },
  }
}

function repositoryOf(body: z.infer<typeof repositorySchema>): HostRepository {
  return {
    identifier: body.full_name,
    displayIdentifier: body.full_name,
    page: body.html_url,
    clone: body.clone_url,
    ssh: body.ssh_url ?? null,
    defaultBranch: body.default_branch,
  }
}
