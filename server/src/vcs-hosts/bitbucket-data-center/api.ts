import { z } from 'zod'
import { decoded, withoutUser } from '../bodies.ts'
import { type Host, type HostApi, type HostConnection, HostError, type HostRepository } from '../host.ts'
import {
  type ApiHost,
  type ApiRequest,
  readPages,
  request,
  requestJson,
  searchComments,
  undefinedIfMissing,
} from '../requests.ts'
import {
  activitySchema,
  type BitbucketRepository,
  branchSchema,
  commentSchema,
  commitSchema,
  hookSchema,
  pageOf,
  projectSchema,
  pullRequestSchema,
  repositorySchema,
} from './schemas.ts'
import { bitbucketDataCenterWebhooks, EVENTS, pullRequestOf } from './webhooks.ts'

const MAX_COMMENT_LENGTH = 32_000
const STATES = { pending: 'INPROGRESS', success: 'SUCCESSFUL', failure: 'FAILED', error: 'FAILED' } as const

export const bitbucketDataCenter: Host = {
  name: 'Bitbucket Data Center',
  capabilities: {
    connectsBy: ['token'],
    needsUsername: true,
    createsWebhooks: true,
    listsRepositories: true,
    hasPullRequests: true,
    hasStatuses: true,
    comments: { maxLength: MAX_COMMENT_LENGTH, rendersHtml: false },
  },
  addresses: (httpUrl) => (httpUrl === undefined ? null : { httpUrl, apiUrl: `${httpUrl}/rest/api/1.0` }),
  webhooks: bitbucketDataCenterWebhooks,
  api: bitbucketDataCenterApi,
  oauth: null,
  commitPath: '/commits/',
  repositoryUrls: ({ httpUrl }, identifier) => ({
    page: `${httpUrl}/${pathOf(identifier)}`,
    clone: `${httpUrl}/scm/${identifier.toLowerCase()}.git`,
    // Its port is a setting of the server: only the API has it.
    ssh: null,
  }),
  gitCredential: ({ token, username }) => ({ username: username ?? 'x-token-auth', password: token }),
}

function bitbucketDataCenterApi(connection: HostConnection): HostApi {
  const root = connection.apiUrl.replace(/\/rest(?:\/.*)?$/, '')
  const rest = `${root}/rest/api/1.0`
  const host: ApiHost = {
    name: bitbucketDataCenter.name,
    connection,
    headers: {
      authorization: `Bearer ${connection.token}`,
      // Turns off the check for cross-site requests of browsers.
      'x-atlassian-token': 'no-check',
    },
    // A missing permission is a 401, too, with the user of the token.
    acceptsToken: ({ headers }) => headers.has('x-ausername'),
  }
  type Input = Omit<ApiRequest, 'url'> & { path: string }
  const send = <T>(schema: z.ZodType<T>, input: Input) =>
    request(host, schema, { ...input, url: `${rest}/${input.path}` })

  async function all<T>(schema: z.ZodType<T>, task: string, path: string): Promise<T[]> {
    const separator = path.includes('?') ? '&' : '?'
    const read = async (start: number) => {
      const found = await send(pageOf(schema), { task, path: `${path}${separator}limit=100&start=${start}` })
      return { data: found.values, next: found.isLastPage ? null : (found.nextPageStart ?? null) }
    }
    return readPages(task, read, { first: 0 })
  }

  async function defaultBranch(identifier: string): Promise<string> {
    const task = `read the default branch of ${identifier}`
    // The response is empty for an empty repository. The second path is that of versions before 7.5.
    const found = await undefinedIfMissing(
      send(branchSchema.nullable(), { task, path: `${pathOf(identifier)}/default-branch` }),
    )
    if (found !== undefined) return found?.displayId ?? ''
    const path = `${pathOf(identifier)}/branches/default`
    return (await undefinedIfMissing(send(branchSchema.nullable(), { task, path })))?.displayId ?? ''
  }

  return {
    async readUser() {
      const input = { task: 'read the user of the token', url: `${rest}/projects?limit=1` }
      const { headers } = await requestJson(host, input)
      const user = headers.get('x-ausername')
      // Anonymous requests succeed where projects are public.
      if (user === null)
        throw new HostError('unauthorised', `could not ${input.task}: ${host.name} does not know the token`)
      return decoded(user)
    },
    async listRepositories({ query, page, size }) {
      const filter = query === '' ? '' : `&name=${encodeURIComponent(query)}`
      // A page starts at a position that the previous one has returned.
      const path = `repos?limit=${size}&start=${page - 1}${filter}`
      const found = await send(pageOf(repositorySchema), { task: 'list repositories', path })
      const next = found.isLastPage ? null : found.nextPageStart
      // The default branch would take a request for each.
      return { rows: found.values.map((row) => repositoryOf(row, '')), nextPage: next == null ? null : next + 1 }
    },
    async listOwners() {
      return (await all(projectSchema, 'list projects', 'projects')).map(({ key }) => key)
    },
    async findRepository(identifier) {
      const input = { task: `read the repository ${identifier}`, path: pathOf(identifier) }
      const found = await undefinedIfMissing(send(repositorySchema, input))
      return found && repositoryOf(found, await defaultBranch(identifier))
    },
    async listBranches(identifier, query) {
      const path = `${pathOf(identifier)}/branches?limit=100&filterText=${encodeURIComponent(query)}`
      const found = await send(pageOf(branchSchema), { task: `list the branches of ${identifier}`, path })
      return found.values.map(({ displayId }) => displayId)
    },
    async createWebhook(identifier, { url, secret }) {
      const task = `create a webhook of ${identifier}`
      const path = `${pathOf(identifier)}/webhooks`
      const existing = (await all(hookSchema, task, path)).find((hook) => hook.url === url)
      const body = { name: 'Groundstate', url, active: true, events: EVENTS, configuration: { secret } }
      const hook = existing
        ? await send(hookSchema, { task, method: 'PUT', path: `${path}/${existing.id}`, body, secrets: [secret] })
        : await send(hookSchema, { task, method: 'POST', path, body, secrets: [secret] })
      return String(hook.id)
    },
    async deleteWebhook(identifier, id) {
      const path = `${pathOf(identifier)}/webhooks/${encodeURIComponent(id)}`
      await undefinedIfMissing(
        send(z.unknown(), { task: `delete the webhook of ${identifier}`, method: 'DELETE', path }),
      )
    },
    async listOpenPullRequests(identifier) {
      const path = `${pathOf(identifier)}/pull-requests?state=OPEN`
      return (await all(pullRequestSchema, `list the pull requests of ${identifier}`, path)).map(pullRequestOf)
    },
    async findPullRequest(identifier, number) {
      const task = `read the pull request ${number} of ${identifier}`
      const path = `${pathOf(identifier)}/pull-requests/${number}`
      const found = await undefinedIfMissing(send(pullRequestSchema, { task, path }))
      if (found === undefined) return undefined
      const pullRequest = pullRequestOf(found)
      const { head } = pullRequest
      // The repository of the pull request has the commits of forks, too.
      const commitPath = `${pathOf(identifier)}/commits/${head.sha}`
      const commit = await undefinedIfMissing(send(commitSchema, { task, path: commitPath }))
      return { ...pullRequest, head: { ...head, message: commit?.message ?? '' } }
    },
    async setStatus(identifier, sha, { context, state, description, url }) {
      // All versions have this path; the one within a repository is newer.
      await request(host, z.unknown(), {
        task: `set the status of ${sha} in ${identifier}`,
        method: 'POST',
        url: `${root}/rest/build-status/1.0/commits/${sha}`,
        body: { key: context.slice(0, 255), name: context.slice(0, 255), state: STATES[state], description, url },
      })
    },
    async createComment(identifier, number, body) {
      const task = `comment on the pull request ${number} of ${identifier}`
      const path = `${pathOf(identifier)}/pull-requests/${number}/comments`
      const text = body.slice(0, MAX_COMMENT_LENGTH)
      return String((await send(commentSchema, { task, method: 'POST', path, body: { text } })).id)
    },
    async updateComment(identifier, number, { id, body }) {
      const task = `update the comment on the pull request ${number} of ${identifier}`
      const path = `${pathOf(identifier)}/pull-requests/${number}/comments/${id}`
      const current = await undefinedIfMissing(send(commentSchema, { task, path }))
      if (!current) return false
      // An update names the version that it replaces.
      const update = { text: body.slice(0, MAX_COMMENT_LENGTH), version: current.version }
      await send(commentSchema, { task, method: 'PUT', path, body: update })
      return true
    },
    async findComment(identifier, number, text) {
      const task = `list the comments on the pull request ${number} of ${identifier}`
      // Comments have no list of their own. The latest activity is first.
      const path = `${pathOf(identifier)}/pull-requests/${number}/activities?limit=100`
      const read = async (start: number) => {
        const found = await send(pageOf(activitySchema), { task, path: `${path}&start=${start}` })
        const data = found.values.map(({ commentAction, comment }) =>
          comment && commentAction !== 'DELETED' ? { id: comment.id, text: comment.text } : { id: 0, text: '' },
        )
        return { data, next: found.isLastPage ? null : (found.nextPageStart ?? null) }
      }
      return searchComments({ task, text }, read, { first: 0 })
    },
  }
}

/** `ACME/network`, or `~jane/network` for a repository of a user. */
function pathOf(identifier: string): string {
  const [project = '', ...slug] = identifier.split('/')
  return `projects/${encodeURIComponent(project)}/repos/${encodeURIComponent(slug.join('/'))}`
}

function repositoryOf(row: BitbucketRepository, defaultBranch: string): HostRepository {
  const identifier = `${row.project.key}/${row.slug}`
  const page = row.links.self[0]?.href.replace(/\/browse$/, '') ?? ''
  const clone = (name: string) => row.links.clone.find((link) => link.name === name)?.href
  return {
    identifier,
    displayIdentifier: identifier,
    page,
    // Older versions put the user of the token in the address.
    clone: withoutUser(clone('http') ?? `${page}.git`),
    ssh: clone('ssh') ?? null,
    defaultBranch,
  }
}
