import {
  Branches,
  Commits,
  Groups,
  MergeRequestNotes,
  MergeRequests,
  ProjectHooks,
  Projects,
  Users,
} from '@gitbeaker/rest'
import { z } from 'zod'
import {
  type Host,
  type HostApi,
  type HostConnection,
  HostError,
  type HostRepository,
  type PullRequest,
} from '../host.ts'
import { oauthOf } from '../oauth.ts'
import { type ApiHost, parseResponse, requestJson, searchComments, type Task, undefinedIfMissing } from '../requests.ts'
import {
  branchSchema,
  commitSchema,
  expandedOf,
  type GitLabMergeRequest,
  groupSchema,
  hookSchema,
  listedNoteSchema,
  mergeRequestSchema,
  noteSchema,
  projectSchema,
  userSchema,
} from './schemas.ts'
import { EVENTS, gitlabWebhooks, mergeRequestRef, signingToken } from './webhooks.ts'

const PAGE = { perPage: 100, maxPages: 100 }
const STATES = { pending: 'pending', success: 'success', failure: 'failed', error: 'failed' } as const

export const gitlab: Host = {
  name: 'GitLab',
  capabilities: {
    connectsBy: ['token', 'oauth'],
    needsUsername: false,
    createsWebhooks: true,
    listsRepositories: true,
    hasPullRequests: true,
    hasStatuses: true,
    comments: { maxLength: 60_000, rendersHtml: true },
  },
  addresses: (httpUrl = 'https://gitlab.com') => ({ httpUrl, apiUrl: `${httpUrl}/api/v4` }),
  webhooks: gitlabWebhooks,
  api: gitlabApi,
  oauth: (connection) =>
    oauthOf({
      name: gitlab.name,
      connection,
      authorizePath: '/oauth/authorize',
      tokenPath: '/oauth/token',
      scope: 'api',
    }),
  commitPath: '/-/commit/',
  repositoryUrls: ({ httpUrl }, identifier) => ({
    page: `${httpUrl}/${identifier}`,
    clone: `${httpUrl}/${identifier}.git`,
    ssh: `git@${new URL(httpUrl).hostname}:${identifier}.git`,
  }),
  gitCredential: ({ token }) => ({ username: 'oauth2', password: token }),
}

/** The Community and Enterprise Editions. */
export const gitlabSelfManaged: Host = {
  ...gitlab,
  addresses: (httpUrl) => (httpUrl === undefined ? null : gitlab.addresses(httpUrl)),
}

function gitlabApi(connection: HostConnection): HostApi {
  const read = <T>(schema: z.ZodType<T>, task: string, body: unknown) =>
    parseResponse(apiHost(connection), schema, { task, body })
  /** Rows of all pages. An incomplete list would claim that the rest does not exist. */
  function readAll<T>(schema: z.ZodType<T>, task: string, body: unknown): T[] {
    const rows = read(z.array(schema), task, body)
    if (rows.length < PAGE.perPage * PAGE.maxPages) return rows
    throw new HostError('unavailable', `could not ${task}: there are more than ${PAGE.maxPages} pages`)
  }
  const at = (task: string, secret?: string) => options(connection, { task, secrets: secret ? [secret] : [] })

  return {
    async readUser() {
      const task = 'read the user of the token'
      return read(userSchema, task, await new Users(at(task)).showCurrentUser()).username
    },
    async listRepositories({ query, page, size }) {
      const task = 'list projects'
      const found = await new Projects(at(task)).all<true, 'offset'>({
        membership: true,
        simple: true,
        page,
        perPage: size,
        showExpanded: true,
        ...(query === '' ? {} : { search: query, searchNamespaces: true }),
      })
      const { data, paginationInfo } = read(expandedOf(projectSchema), task, found)
      return { rows: data.map(repositoryOf), nextPage: paginationInfo.next }
    },
    async listOwners() {
      const task = 'list groups'
      const groups = readAll(groupSchema, task, await new Groups(at(task)).all(PAGE))
      return [await this.readUser(), ...groups.map((group) => group.full_path)]
    },
    async findRepository(identifier) {
      const task = `read the project ${identifier}`
      const found = await undefinedIfMissing(new Projects(at(task)).show(identifier))
      return found && repositoryOf(read(projectSchema, task, found))
    },
    async listBranches(identifier, query) {
      const task = `list the branches of ${identifier}`
      const search = query === '' ? {} : { search: query }
      const found = await new Branches(at(task)).all(identifier, { perPage: 100, maxPages: 1, ...search })
      return read(z.array(branchSchema), task, found).map(({ name }) => name)
    },
    async createWebhook(identifier, { url, secret }) {
      const task = `create a webhook of ${identifier}`
      const hooks = new ProjectHooks(at(task, secret))
      const existing = readAll(hookSchema, task, await hooks.all(identifier, PAGE)).find((hook) => hook.url === url)
      // Versions without signatures ignore the signing token.
      const settings = { token: secret, signingToken: signingToken(secret), ...EVENTS }
      const hook = existing
        ? await hooks.edit(identifier, existing.id, url, settings)
        : await hooks.add(identifier, url, settings)
      return String(read(hookSchema, task, hook).id)
    },
    async deleteWebhook(identifier, id) {
      await undefinedIfMissing(
        new ProjectHooks(at(`delete the webhook of ${identifier}`)).remove(identifier, Number(id)),
      )
    },
    async listOpenPullRequests(identifier) {
      const task = `list the merge requests of ${identifier}`
      const found = await new MergeRequests(at(task)).all({ projectId: identifier, state: 'opened', ...PAGE })
      return readAll(mergeRequestSchema, task, found).map((row) => pullRequestOf(row, ''))
    },
    async findPullRequest(identifier, number) {
      const task = `read the merge request ${number} of ${identifier}`
      const found = await undefinedIfMissing(new MergeRequests(at(task)).show(identifier, number))
      if (found === undefined) return undefined
      const row = read(mergeRequestSchema, task, found)
      const commit = await undefinedIfMissing(new Commits(at(task)).show(identifier, row.sha))
      return pullRequestOf(row, commit === undefined ? '' : read(commitSchema, task, commit).message)
    },
    async setStatus(identifier, sha, status) {
      const { context, description, url: targetUrl } = status
      const state = STATES[status.state]
      const commits = new Commits(at(`set the status of ${sha} in ${identifier}`))
      try {
        await commits.editStatus(identifier, sha, state, { context, description, targetUrl })
      } catch (error) {
        // GitLab refuses to repeat a state.
        if (!(error instanceof HostError) || !error.message.includes('Cannot transition status')) throw error
      }
    },
    async createComment(identifier, number, body) {
      const task = `comment on the merge request ${number} of ${identifier}`
      return String(read(noteSchema, task, await new MergeRequestNotes(at(task)).create(identifier, number, body)).id)
    },
    async updateComment(identifier, number, { id, body }) {
      const notes = new MergeRequestNotes(at(`update the comment on the merge request ${number} of ${identifier}`))
      return (await undefinedIfMissing(notes.edit(identifier, number, Number(id), { body }))) !== undefined
    },
    async findComment(identifier, number, text) {
      const task = `list the comments on the merge request ${number} of ${identifier}`
      return searchComments({ task, text }, async (page) => {
        const found = await new MergeRequestNotes(at(task)).all<true>(identifier, number, {
          orderBy: 'created_at',
          sort: 'desc',
          perPage: 100,
          page,
          showExpanded: true,
        })
        const { data, paginationInfo } = read(expandedOf(listedNoteSchema), task, found)
        return { data: data.map(({ id, body }) => ({ id, text: body })), next: paginationInfo.next }
      })
    },
  }
}

const apiHost = (connection: HostConnection): ApiHost => ({
  name: gitlab.name,
  connection,
  // GitLab takes access tokens and OAuth tokens alike.
  headers: { authorization: `Bearer ${connection.token}` },
})

type Requested = { searchParams?: Record<string, unknown>; body?: unknown }

/** Options that send the library's requests through the connection, without its retries, which would hold up a job. */
function options(connection: HostConnection, task: Task) {
  const send =
    (method: string) =>
    async (endpoint: string, { searchParams = {}, body }: Requested = {}) => {
      const query = new URLSearchParams(snakeCased(searchParams)).toString()
      const { body: received, headers } = await requestJson(apiHost(connection), {
        ...task,
        method,
        url: `${connection.apiUrl}/${endpoint}${query === '' ? '' : `?${query}`}`,
        body: typeof body !== 'object' || body === null || method === 'DELETE' ? undefined : snakeCased(body),
      })
      return { body: received, headers: Object.fromEntries(headers), status: 200 } as never
    }
  const requesterFn = ({ url }: { url: string }) => {
    // The library puts the first part of a path in the address of some resources, such as `projects`.
    const [, prefix = ''] = url.split('/api/v4/')
    const within = (method: string) => (endpoint: string, requested?: Requested) =>
      send(method)(prefix === '' ? endpoint : `${prefix}/${endpoint}`, requested)
    return {
      get: within('GET'),
      post: within('POST'),
      put: within('PUT'),
      patch: within('PATCH'),
      delete: within('DELETE'),
    }
  }
  return { host: connection.httpUrl, oauthToken: connection.token, requesterFn }
}

function snakeCased(values: object): Record<string, string> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(
    given.map(([key, value]) => [key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value as string]),
  )
}

function repositoryOf(row: z.infer<typeof projectSchema>): HostRepository {
  return {
    identifier: row.path_with_namespace,
    displayIdentifier: row.path_with_namespace,
    page: row.web_url,
    clone: row.http_url_to_repo,
    ssh: row.ssh_url_to_repo ?? null,
    defaultBranch: row.default_branch ?? '',
  }
}

function pullRequestOf(row: GitLabMergeRequest, message: string): PullRequest {
  const project = row.web_url.replace(/\/(?:-\/)?merge_requests\/\d+$/, '')
  // A fast-forward merge leaves no commit but the head.
  const merged = row.merge_commit_sha ?? row.squash_commit_sha ?? row.sha
  return {
    number: row.iid,
    title: row.title,
    body: row.description ?? '',
    url: row.web_url,
    head: { branch: row.source_branch, sha: row.sha, message, url: `${project}/-/commit/${row.sha}` },
    base: { branch: row.target_branch, sha: row.diff_refs?.start_sha ?? null },
    isFork: row.source_project_id !== row.target_project_id,
    headRef: mergeRequestRef(row.iid),
    mergeSha: row.state === 'merged' ? merged : null,
    author: { username: row.author.username, avatarUrl: row.author.avatar_url ?? '', pageUrl: row.author.web_url },
  }
}
