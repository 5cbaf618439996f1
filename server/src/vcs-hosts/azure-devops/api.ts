import { z } from 'zod'
import { branchName, decoded, withoutUser } from '../bodies.ts'
import { type Host, type HostApi, type HostConnection, HostError, type HostRepository } from '../host.ts'
import { type ApiHost, type ApiRequest, readPages, request, searchComments, undefinedIfMissing } from '../requests.ts'
import { azureDirectory } from './directory.ts'
import {
  type AzureRepository,
  commentSchema,
  commitSchema,
  listedPullRequestSchema,
  listedThreadSchema,
  listOf,
  pullRequestSchema,
  refSchema,
  repositorySchema,
  subscriptionSchema,
  threadSchema,
} from './schemas.ts'
import { azureDevopsWebhooks, EVENTS, identifierOf, pullRequestOf, WEBHOOK_USER } from './webhooks.ts'

/** Azure DevOps Server 2019 has it, and all later ones. */
const VERSION = 'api-version=5.0'
const PAGE_SIZE = 100
const STATES = { pending: 'pending', success: 'succeeded', failure: 'failed', error: 'error' } as const

const CLOUD = 'https://dev.azure.com'

export const azureDevops: Host = {
  name: 'Azure DevOps',
  capabilities: {
    connectsBy: ['token'],
    needsUsername: false,
    createsWebhooks: true,
    listsRepositories: true,
    hasPullRequests: true,
    hasStatuses: true,
    comments: { maxLength: 60_000, rendersHtml: true },
  },
  addresses: (httpUrl = CLOUD) => ({ httpUrl, apiUrl: httpUrl }),
  webhooks: azureDevopsWebhooks,
  api: azureDevopsApi,
  oauth: null,
  commitPath: '/commit/',
  repositoryUrls({ httpUrl }, identifier) {
    const { owner, project, name } = partsOf(identifier)
    const root = new URL(httpUrl).hostname === 'dev.azure.com' ? CLOUD : httpUrl
    const page = `${root}/${[owner, project, '_git', name].map(encodeURIComponent).join('/')}`
    return { page, clone: page, ssh: null }
  },
  // The user has no meaning.
  gitCredential: ({ token }) => ({ username: 'groundstate', password: token }),
}

export const azureDevopsServer: Host = {
  ...azureDevops,
  name: 'Azure DevOps Server',
  addresses: (httpUrl) => (httpUrl === undefined ? null : { httpUrl, apiUrl: httpUrl }),
}

function azureDevopsApi(connection: HostConnection): HostApi {
  const host: ApiHost = {
    name: azureDevops.name,
    connection,
    headers: { authorization: `Basic ${Buffer.from(`:${connection.token}`).toString('base64')}` },
    // A token that is not valid gets a page to sign in.
    refusesToken: (response) => response.status === 203 || /_signin/i.test(response.headers.get('location') ?? ''),
  }
  const directory = azureDirectory(host, connection)
  type Input = Omit<ApiRequest, 'url'> & { path: string }
  const send = <T>(schema: z.ZodType<T>, { path, ...input }: Input) =>
    request(host, schema, { ...input, url: `${directory.root}/${path}${path.includes('?') ? '&' : '?'}${VERSION}` })

  const readRepository = async (identifier: string) =>
    send(repositorySchema, { task: `read the repository ${identifier}`, path: pathOf(identifier) })

  /** Ids of the service hooks that send to the address. */
  async function findSubscriptions(owner: string, task: string, url: string): Promise<string[]> {
    const path = `${owner}/_apis/hooks/subscriptions?publisherId=tfs&consumerId=webHooks`
    const { value } = await send(listOf(subscriptionSchema), { task, path })
    return value.filter(({ consumerInputs }) => consumerInputs.url === url).map(({ id }) => id)
  }

  async function deleteSubscriptions(owner: string, task: string, ids: string[]) {
    for (const id of ids) {
      const path = `${owner}/_apis/hooks/subscriptions/${encodeURIComponent(id)}`
      await undefinedIfMissing(send(z.unknown(), { task, method: 'DELETE', path }))
    }
  }

  return {
    readUser: directory.readUser,
    listOwners: directory.listOwners,
    async listRepositories({ query, page, size }) {
      // The API lists all repositories of an organization and has no search.
      const found: AzureRepository[] = []
      for (const owner of await directory.listOwners()) {
        const path = `${encodeURIComponent(owner)}/_apis/git/repositories`
        const { value } = await send(listOf(repositorySchema), { task: `list the repositories of ${owner}`, path })
        found.push(...value)
      }
      const rows = found
        .filter(({ isDisabled }) => isDisabled !== true)
        .map(repositoryOf)
        .filter(({ identifier }) => identifier.toLowerCase().includes(query.toLowerCase()))
      const isLast = page * size >= rows.length
      return { rows: rows.slice((page - 1) * size, page * size), nextPage: isLast ? null : page + 1 }
    },
    async findRepository(identifier) {
      const found = await undefinedIfMissing(readRepository(identifier))
      return found && repositoryOf(found)
    },
    async listBranches(identifier, query) {
      const filter = query === '' ? '' : `&filterContains=${encodeURIComponent(query)}`
      const path = `${pathOf(identifier)}/refs?filter=heads/${filter}&$top=${PAGE_SIZE}`
      const { value } = await send(listOf(refSchema), { task: `list the branches of ${identifier}`, path })
      return value.map(({ name }) => branchName(name))
    },
    async createWebhook(identifier, { url, secret }) {
      const task = `create a service hook of ${identifier}`
      const owner = encodeURIComponent(partsOf(identifier).owner)
      const { id: repository, project } = await readRepository(identifier)
      const previous = await findSubscriptions(owner, task, url)
      const created: string[] = []
      try {
        for (const { eventType, ...filter } of EVENTS) {
          const body = {
            publisherId: 'tfs',
            eventType,
            resourceVersion: '1.0',
            consumerId: 'webHooks',
            consumerActionId: 'httpRequest',
            publisherInputs: { projectId: project.id, repository, ...filter },
            consumerInputs: {
              url,
              basicAuthUsername: WEBHOOK_USER,
              basicAuthPassword: secret,
              resourceDetailsToSend: 'all',
              messagesToSend: 'none',
              detailedMessagesToSend: 'none',
            },
          }
          const path = `${owner}/_apis/hooks/subscriptions`
          created.push((await send(subscriptionSchema, { task, method: 'POST', path, body, secrets: [secret] })).id)
        }
      } catch (error) {
        await deleteSubscriptions(owner, task, created)
        throw error
      }
      await deleteSubscriptions(owner, task, previous)
      return created.join(',')
    },
    async deleteWebhook(identifier, id) {
      const owner = encodeURIComponent(partsOf(identifier).owner)
      await deleteSubscriptions(owner, `delete the service hooks of ${identifier}`, id.split(','))
    },
    async listOpenPullRequests(identifier) {
      const task = `list the pull requests of ${identifier}`
      const repository = await readRepository(identifier)
      const readPage = async (start: number) => {
        const range = `$top=${PAGE_SIZE}&$skip=${start}`
        const path = `${pathOf(identifier)}/pullrequests?searchCriteria.status=active&${range}`
        const { value } = await send(listOf(listedPullRequestSchema), { task, path })
        return { data: value, next: value.length < PAGE_SIZE ? null : start + PAGE_SIZE }
      }
      const rows = await readPages(task, readPage, { first: 0 })
      return rows.map((row) => pullRequestOf(row, repository))
    },
    async findPullRequest(identifier, number) {
      const task = `read the pull request ${number} of ${identifier}`
      const path = `${pathOf(identifier)}/pullrequests/${number}`
      const row = await undefinedIfMissing(send(pullRequestSchema, { task, path }))
      if (row === undefined) return undefined
      const pullRequest = pullRequestOf(row, row.repository)
      const { head } = pullRequest
      const commit = await undefinedIfMissing(
        send(commitSchema, { task, path: `${pathOf(identifier)}/commits/${head.sha}` }),
      )
      return { ...pullRequest, head: { ...head, message: commit?.comment ?? '' } }
    },
    async setStatus(identifier, sha, { context, state, description, url }) {
      // Slashes in the name are for the genre.
      const [name = '', ...genre] = context.split('/').toReversed()
      await send(z.unknown(), {
        task: `set the status of ${sha} in ${identifier}`,
        method: 'POST',
        path: `${pathOf(identifier)}/commits/${sha}/statuses`,
        body: {
          state: STATES[state],
          description,
          targetUrl: url,
          context: { name, genre: genre.toReversed().join('/') },
        },
      })
    },
    async createComment(identifier, number, body) {
      const task = `comment on the pull request ${number} of ${identifier}`
      const path = `${pathOf(identifier)}/pullrequests/${number}/threads`
      // An active thread would block the pull request where policies require resolved comments.
      const thread = { comments: [{ parentCommentId: 0, content: body, commentType: 'text' }], status: 'closed' }
      return String((await send(threadSchema, { task, method: 'POST', path, body: thread })).id)
    },
    async updateComment(identifier, number, { id, body }) {
      const task = `update the comment on the pull request ${number} of ${identifier}`
      // The text of a thread is its first comment.
      const path = `${pathOf(identifier)}/pullrequests/${number}/threads/${id}/comments/1`
      const patch = send(commentSchema, { task, method: 'PATCH', path, body: { content: body } })
      const updated = await undefinedIfMissing(patch)
      return updated !== undefined && updated.isDeleted !== true
    },
    async findComment(identifier, number, text) {
      const task = `list the comments on the pull request ${number} of ${identifier}`
      const path = `${pathOf(identifier)}/pullrequests/${number}/threads`
      // The list has no pages.
      return searchComments({ task, text }, async () => {
        const { value } = await send(listOf(listedThreadSchema), { task, path })
        const data = value.map(({ id, isDeleted, comments }) => {
          const first = comments?.find((comment) => comment.id === 1)
          return { id, text: isDeleted || first?.isDeleted ? '' : (first?.content ?? '') }
        })
        return { data, next: null }
      })
    },
  }
}

/** Names may be percent-encoded. Throws a `HostError` for other than `organization/project/_git/repository`. */
function partsOf(identifier: string) {
  const [owner = '', project = '', git, name = '', ...rest] = identifier.split('/').map(decoded)
  if (owner === '' || project === '' || git !== '_git' || name === '' || rest.length > 0) {
    const expected = 'organization/project/_git/repository'
    throw new HostError('not-found', `could not read the repository ${identifier}: its identifier is not ${expected}`)
  }
  return { owner, project, name }
}

function pathOf(identifier: string) {
  const { owner, project, name } = partsOf(identifier)
  return [owner, project, '_apis', 'git', 'repositories', name].map(encodeURIComponent).join('/')
}

function repositoryOf(row: AzureRepository): HostRepository {
  const identifier = identifierOf(row)
  return {
    identifier,
    displayIdentifier: identifier,
    page: row.webUrl ?? withoutUser(row.remoteUrl),
    clone: withoutUser(row.remoteUrl),
    ssh: row.sshUrl ?? null,
    defaultBranch: branchName(row.defaultBranch ?? ''),
  }
}
