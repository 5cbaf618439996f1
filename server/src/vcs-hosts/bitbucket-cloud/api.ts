import { createHash } from 'node:crypto'
import { z } from 'zod'
import { withoutUser } from '../bodies.ts'
import type { Host, HostApi, HostConnection, HostPage, HostRepository, PullRequest } from '../host.ts'
import { oauthOf } from '../oauth.ts'
import { type ApiHost, type ApiRequest, readPages, request, searchComments, undefinedIfMissing } from '../requests.ts'
import {
  branchSchema,
  type BitbucketPullRequest,
  commentSchema,
  commitSchema,
  hookSchema,
  listedCommentSchema,
  pageOf,
  pullRequestSchema,
  repositorySchema,
  userSchema,
  workspaceSchema,
} from './schemas.ts'
import { bitbucketCloudWebhooks, EVENTS, pullRequestOf, senderOf } from './webhooks.ts'

const MAX_COMMENT_LENGTH = 32_000
const STATES = { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED', error: 'FAILED' } as const

/** The user name of OAuth tokens, and of access tokens of workspaces, projects and repositories, with git. */
const TOKEN_USER = 'x-token-auth'

export const bitbucketCloud: Host = {
  name: 'Bitbucket Cloud',
  capabilities: {
    connectsBy: ['token', 'oauth'],
    needsUsername: true,
    createsWebhooks: true,
    listsRepositories: true,
    hasPullRequests: true,
    hasStatuses: true,
    comments: { maxLength: MAX_COMMENT_LENGTH, rendersHtml: false },
  },
  addresses: () => ({ httpUrl: 'https://bitbucket.org', apiUrl: 'https://api.bitbucket.org/2.0' }),
  webhooks: bitbucketCloudWebhooks,
  api: bitbucketCloudApi,
  oauth: (connection) =>
    oauthOf({
      name: bitbucketCloud.name,
      connection,
      authorizePath: '/site/oauth2/authorize',
      tokenPath: '/site/oauth2/access_token',
      // Scopes are settings of the OAuth consumer.
      scope: null,
      credentialsIn: 'header',
    }),
  commitPath: '/commits/',
  repositoryUrls: ({ httpUrl }, identifier) => ({
    page: `${httpUrl}/${identifier}`,
    clone: `${httpUrl}/${identifier}.git`,
    ssh: `git@${new URL(httpUrl).hostname}:${identifier}.git`,
  }),
  gitCredential({ token, username }) {
    // API tokens belong to a mail address, which git cannot use.
    const user = username?.includes('@') ? 'x-bitbucket-api-token-auth' : username
    return { username: user ?? TOKEN_USER, password: token }
  },
}

function bitbucketCloudApi(connection: HostConnection): HostApi {
  const { apiUrl, username, token } = connection
  const basic =
    username === null || username === TOKEN_USER ? undefined : Buffer.from(`${username}:${token}`).toString('base64')
  const host: ApiHost = {
    name: bitbucketCloud.name,
    connection,
    headers: { authorization: basic === undefined ? `Bearer ${token}` : `Basic ${basic}` },
  }
  const send = <T>(schema: z.ZodType<T>, input: Omit<ApiRequest, 'url'> & { path: string }) =>
    request(host, schema, { ...input, url: `${apiUrl}${input.path}` })

  /** Rows of all pages. Pages are counted here: an address in a response is not to be trusted with the token. */
  const all = async <T>(schema: z.ZodType<T>, task: string, path: string): Promise<T[]> =>
    readPages(task, async (page) => {
      const { values, next } = await send(pageOf(schema), { task, path: `${path}&page=${page}` })
      return { data: values, next: next === undefined ? null : page + 1 }
    })

  const listOwners = async () =>
    (await all(workspaceSchema, 'list workspaces', '/user/workspaces?pagelen=100')).map(
      ({ workspace }) => workspace.slug ?? workspace.uuid,
    )

  /** With the full ids of its commits, which pull requests abbreviate. */
  async function completed(identifier: string, row: BitbucketPullRequest): Promise<PullRequest> {
    const pullRequest = pullRequestOf(row)
    const commit = async (repository: string | undefined, sha: string | null) => {
      if (sha === null || sha === '' || repository === undefined) return undefined
      const task = `read the commit ${sha} of ${repository}`
      return undefinedIfMissing(
        send(commitSchema, { task, path: `/repositories/${encoded(repository)}/commit/${sha}` }),
      )
    }
    const head = await commit(row.source.repository?.full_name, pullRequest.head.sha)
    const base = await commit(identifier, pullRequest.base.sha)
    const merge = await commit(identifier, pullRequest.mergeSha)
    return {
      ...pullRequest,
      head: { ...pullRequest.head, sha: head?.hash ?? pullRequest.head.sha, message: head?.message ?? '' },
      base: { ...pullRequest.base, sha: base?.hash ?? pullRequest.base.sha },
      mergeSha: merge?.hash ?? pullRequest.mergeSha,
    }
  }

  return {
    async readUser() {
      return senderOf(await send(userSchema, { task: 'read the user of the token', path: '/user' })).username
    },
    listOwners,
    async listRepositories({ query, page, size }) {
      // Repositories are listed per workspace. A page number has the position of the workspace and its page.
      const [owner, name] = query.includes('/') ? query.split('/', 2) : [undefined, query]
      const owners = owner ? [owner] : await listOwners()
      let position = page - 1
      for (;;) {
        const workspace = owners[Math.floor(position / 1000)]
        if (workspace === undefined) return { rows: [], nextPage: null }
        const inner = (position % 1000) + 1
        const filter = name ? `&q=${encodeURIComponent(`name~"${name.replaceAll(/["\\]/g, '')}"`)}` : ''
        const path = `/repositories/${encodeURIComponent(workspace)}?role=member&pagelen=${size}&page=${inner}${filter}`
        const found = await send(pageOf(repositorySchema), { task: `list the repositories of ${workspace}`, path })
        const hasMore = found.next !== undefined && inner < 1000
        position = hasMore ? position + 1 : (Math.floor(position / 1000) + 1) * 1000
        const isLast = owners[Math.floor(position / 1000)] === undefined
        const result: HostPage<HostRepository> = {
          rows: found.values.map(repositoryOf),
          nextPage: isLast ? null : position + 1,
        }
        if (result.rows.length > 0 || isLast) return result
      }
    },
    async findRepository(identifier) {
      const path = `/repositories/${encoded(identifier)}`
      const found = await undefinedIfMissing(
        send(repositorySchema, { task: `read the repository ${identifier}`, path }),
      )
      return found && repositoryOf(found)
    },
    async listBranches(identifier, query) {
      const filter = query === '' ? '' : `&q=${encodeURIComponent(`name~"${query.replaceAll(/["\\]/g, '')}"`)}`
      const path = `/repositories/${encoded(identifier)}/refs/branches?pagelen=100${filter}`
      const found = await send(pageOf(branchSchema), { task: `list the branches of ${identifier}`, path })
      return found.values.map(({ name }) => name)
    },
    async createWebhook(identifier, { url, secret }) {
      const task = `create a webhook of ${identifier}`
      const path = `/repositories/${encoded(identifier)}/hooks`
      const existing = (await all(hookSchema, task, `${path}?pagelen=100`)).find((hook) => hook.url === url)
      const body = { description: 'Groundstate', url, secret, active: true, events: EVENTS }
      const hook = existing
        ? await send(hookSchema, {
            task,
            method: 'PUT',
            path: `${path}/${encodeURIComponent(existing.uuid)}`,
            body,
            secrets: [secret],
          })
        : await send(hookSchema, { task, method: 'POST', path, body, secrets: [secret] })
      return hook.uuid
    },
    async deleteWebhook(identifier, id) {
      const path = `/repositories/${encoded(identifier)}/hooks/${encodeURIComponent(id)}`
      await undefinedIfMissing(
        send(z.unknown(), { task: `delete the webhook of ${identifier}`, method: 'DELETE', path }),
      )
    },
    async listOpenPullRequests(identifier) {
      const path = `/repositories/${encoded(identifier)}/pullrequests?state=OPEN&pagelen=50`
      return (await all(pullRequestSchema, `list the pull requests of ${identifier}`, path)).map(pullRequestOf)
    },
    async findPullRequest(identifier, number) {
      const path = `/repositories/${encoded(identifier)}/pullrequests/${number}`
      const task = `read the pull request ${number} of ${identifier}`
      const found = await undefinedIfMissing(send(pullRequestSchema, { task, path }))
      return found && completed(identifier, found)
    },
    async setStatus(identifier, sha, { context, state, description, url }) {
      // At most 40 characters, which a context may exceed.
      const key = createHash('sha256').update(context).digest('hex').slice(0, 40)
      await send(z.unknown(), {
        task: `set the status of ${sha} in ${identifier}`,
        method: 'POST',
        path: `/repositories/${encoded(identifier)}/commit/${sha}/statuses/build`,
        body: { key, name: context, state: STATES[state], description, url },
      })
    },
    async createComment(identifier, number, body) {
      const task = `comment on the pull request ${number} of ${identifier}`
      const path = commentsPath(identifier, number)
      return String((await send(commentSchema, { task, method: 'POST', path, body: contentOf(body) })).id)
    },
    async updateComment(identifier, number, { id, body }) {
      const task = `update the comment on the pull request ${number} of ${identifier}`
      const path = `${commentsPath(identifier, number)}/${id}`
      const put = send(commentSchema, { task, method: 'PUT', path, body: contentOf(body) })
      const updated = await undefinedIfMissing(put)
      return updated !== undefined && updated.deleted !== true
    },
    async findComment(identifier, number, text) {
      const task = `list the comments on the pull request ${number} of ${identifier}`
      const path = `${commentsPath(identifier, number)}?sort=-created_on&pagelen=100`
      return searchComments({ task, text }, async (page) => {
        const { values, next } = await send(pageOf(listedCommentSchema), { task, path: `${path}&page=${page}` })
        const data = values.map(({ id, deleted, content }) => ({ id, text: deleted ? '' : (content?.raw ?? '') }))
        return { data, next: next === undefined ? null : page + 1 }
      })
    },
  }
}

const encoded = (identifier: string) => identifier.split('/').map(encodeURIComponent).join('/')

const commentsPath = (identifier: string, number: number) =>
  `/repositories/${encoded(identifier)}/pullrequests/${number}/comments`
const contentOf = (body: string) => ({ content: { raw: body.slice(0, MAX_COMMENT_LENGTH) } })

function repositoryOf(row: z.infer<typeof repositorySchema>): HostRepository {
  const clone = (name: string) => row.links.clone.find((link) => link.name === name)?.href
  return {
    identifier: row.full_name,
    displayIdentifier: row.full_name,
    page: row.links.html.href,
    // The address has the user of the token.
    clone: withoutUser(clone('https') ?? `${row.links.html.href}.git`),
    ssh: clone('ssh') ?? null,
    defaultBranch: row.mainbranch?.name ?? '',
  }
}
