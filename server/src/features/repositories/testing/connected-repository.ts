import { writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { USER, makeRepository, serveGit } from '@groundstate/agent/testing/git-server'
import { archiveFile, unpacked } from '@groundstate/agent/testing/served-repository'
import { expect } from 'vitest'
import type { TestApp, TestResponse } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createWorkspace } from '../../../testing/factories.ts'
import * as bodies from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { webhookContext } from '../../vcs/repositories/service.ts'

export const IDENTIFIER = 'acme/network'

type Reply = { status?: number; headers?: Record<string, string>; body?: unknown }

/**
 * The repository acme/network on a Gitea with real git, in an organization that is connected to it. `reply` answers requests of the API by
 * route, such as `GET /repos/acme/network`; `isDown` makes git fail, `onGit` is called by its requests.
 */
export async function connectRepository(app: TestApp, owner: TestUser, { sshKey }: { sshKey?: string } = {}) {
  const replies = new Map<string, Reply>([['GET /user', { body: bodies.mona }]])
  const host = { isDown: false, onGit: () => {} }
  const asked: { route: string; body: unknown }[] = []

  async function answer(request: IncomingMessage, response: ServerResponse, route: string) {
    const text = (await buffer(request)).toString()
    asked.push({ route, body: text === '' ? undefined : JSON.parse(text) })
    const { status = 200, headers = {}, body = {} } = replies.get(route) ?? { status: 404 }
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }

  const server = await serveGit({
    intercept: (request, response) => {
      const [, route] = /^\/api\/v1([^?]*)/.exec(request.url ?? '') ?? []
      if (route !== undefined) void answer(request, response, `${request.method} ${route}`)
      else if (host.isDown) response.writeHead(503).end()
      else host.onGit()
      return route !== undefined || host.isDown
    },
  })
  const repository = makeRepository(server.root, `${IDENTIFIER}.git`)
  const found = { ...bodies.repository(IDENTIFIER), clone_url: `${server.url}/${IDENTIFIER}.git` }
  replies.set(`GET /repos/${IDENTIFIER}`, { body: found })

  const { name: organization, id: organizationId } = await createOrganization(app, owner)
  const request = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, data?: unknown) =>
    app.request({ method, url: `/api/v2/${path}`, token: owner.token, ...(data !== undefined && { body: { data } }) })
  const created = await request('POST', `organizations/${organization}/oauth-clients`, {
    type: 'oauth-clients',
    attributes: {
      'service-provider': 'gitea',
      'http-url': server.url,
      'oauth-token-string': USER.password,
      'oauth-token-username': USER.username,
    },
  })
  expect(created.status).toBe(201)
  const { id: clientId, relationships } = created.json().data
  const tokenId: string = relationships['oauth-tokens'].data[0].id
  if (sshKey !== undefined)
    await request('PATCH', `oauth-tokens/${tokenId}`, { type: 'oauth-tokens', attributes: { 'ssh-key': sshKey } })
  let deliveries = 0

  return {
    server,
    host,
    repository,
    organization,
    organizationId,
    clientId: clientId as string,
    tokenId,
    request,
    reply: (route: string, reply: Reply) => replies.set(route, reply),
    /** Bodies of the requests of a route. */
    bodiesOf: (route: string) => asked.filter((request) => request.route === route).map(({ body }) => body),

    /** Adds a workspace that follows the repository. */
    async addWorkspace(settings: object = {}, vcsRepo: object = {}) {
      const workspace = await createWorkspace(app, { organization, actor: owner.actor })
      const attributes = {
        ...settings,
        'vcs-repo': { identifier: IDENTIFIER, 'oauth-token-id': tokenId, branch: 'main', ...vcsRepo },
      }
      const response = await request('PATCH', `workspaces/${workspace.id}`, { type: 'workspaces', attributes })
      expect(response.status).toBe(200)
      return { id: workspace.id }
    },

    /** Sends a webhook of the repository; `id` is that of the delivery. */
    async deliver(event: 'push' | 'pull_request', content: object, options: Partial<Webhook> & DeliverOptions = {}) {
      const { id = `delivery-${++deliveries}`, webhook = await findWebhook(app, tokenId) } = options
      const request = bodies.webhookRequest(event, content, { secret: options.secret ?? webhook.secret, id })
      return app.request({ ...request, url: `/webhooks/vcs/${webhook.path}`, body: Buffer.from(request.body) })
    },

    /** Commits files to the branch `main`. Returns the webhook of the push. */
    push(files: Parameters<typeof repository.commit>[0], message = 'Change') {
      const before = repository.git('rev-list', '--max-count=1', '--all', '--', '.') || bodies.ZEROS
      const after = repository.commit(files, message)
      const head = { id: after, message, url: `${found.html_url}/commit/${after}` }
      return bodies.push({ before, after, head_commit: head, commits: [head] })
    },

    /** Commits files to a branch from `main`, as a pull request. Returns its webhook. */
    openPullRequest(
      files: Parameters<typeof repository.commit>[0],
      { number = 7, branch = 'topic', repoId = 140 } = {},
    ) {
      repository.git('checkout', '--quiet', '-B', branch)
      const sha = repository.commit(files)
      repository.git('update-ref', `refs/pull/${number}/head`, sha)
      repository.git('checkout', '--quiet', 'main')
      const of = (name: string, commit: string, id: number) => ({ label: name, ref: name, sha: commit, repo_id: id })
      const base = of('main', repository.git('rev-parse', 'main'), 140)
      return bodies.pullRequestEvent('opened', bodies.pullRequest({ number, head: of(branch, sha, repoId), base }))
    },

    async runsOf(workspaceId: string) {
      return (await request('GET', `workspaces/${workspaceId}/runs`)).json().data
    },

    /** Reasons of the decisions about a workspace, with their text. */
    async decisionsOf(workspaceId: string): Promise<string[][]> {
      const { data } = (await request('GET', `workspaces/${workspaceId}/vcs-decisions`)).json()
      return data.map(({ attributes }: { attributes: Record<string, string> }) => [
        attributes['reason'],
        attributes['description'],
      ])
    },

    async deliveries() {
      const { data } = (await request('GET', `organizations/${organization}/vcs-deliveries`)).json()
      return data.map(({ attributes }: { attributes: Record<string, unknown> }) => attributes)
    },
  }
}

type Webhook = { path: string; secret: string }
type DeliverOptions = { id?: string; webhook?: Webhook }

/** The webhook of the repository of a connection. */
export async function findWebhook(app: TestApp, tokenId: string): Promise<Webhook> {
  const row = await app.db
    .selectFrom('repositories')
    .select(['id', 'webhook_path', 'webhook_secret'])
    .where('oauth_token_id', '=', tokenId)
    .executeTakeFirstOrThrow()
  return { path: row.webhook_path, secret: app.secrets.openText(row.webhook_secret, webhookContext(row.id)) }
}

type Download = (method: 'GET', path: string) => Promise<TestResponse>

/** Contents of the files of a version by path. */
export async function archiveOf(request: Download, versionId: string) {
  const { bytes } = await request('GET', `configuration-versions/${versionId}/download`)
  const file = await archiveFile()
  await writeFile(file, bytes)
  return unpacked(file)
}
