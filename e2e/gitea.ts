import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { makeRepository, serveGit, USER } from '../agent/src/testing/git-server.ts'
import * as bodies from '../server/src/vcs-hosts/gitea/testing/bodies.ts'
import { until } from './run-progress.ts'

export type Status = { sha: string; state: string; context: string; description: string; target_url: string }
type Webhook = { url: string; secret: string }

export const IDENTIFIER = 'acme/network'
export const PULL_REQUEST = 7

/** Plays Gitea until the end of the test: its API, webhooks that are repeated until they are accepted, and a real repository over http. */
export async function startGitea() {
  const statuses: Status[] = []
  const comments = new Map<number, string>()
  const webhooks: Webhook[] = []
  const unexpected: string[] = []
  let pullRequest = bodies.pullRequest()
  const server = await serveGit({
    intercept(request, response) {
      if (!request.url?.startsWith('/api/v1/')) return false
      void answer(request, response)
      return true
    },
  })
  const repository = makeRepository(server.root, IDENTIFIER)
  const described = () => ({
    ...bodies.repository(IDENTIFIER),
    clone_url: `${server.url}/${IDENTIFIER}`,
    html_url: `${server.url}/${IDENTIFIER}`,
  })

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { pathname } = new URL(request.url ?? '/', server.url)
    const body: any = JSON.parse((await text(request)) || 'null')
    const reply = (status: number, content: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content))
    if (request.headers.authorization !== `token ${USER.password}`) return reply(401, { message: 'invalid token' })
    const route = `${request.method} ${pathname.slice('/api/v1'.length).replace(`/repos/${IDENTIFIER}`, '')}`
    const id = Number(/\d+$/.exec(route)?.[0])
    if (route === 'GET /user') return reply(200, bodies.mona)
    if (route === 'GET ') return reply(200, described())
    if (route === 'GET /repos/search') return reply(200, { ok: true, data: [described()] })
    if (route === 'GET /hooks') return reply(200, [])
    if (route === 'POST /hooks') {
      webhooks.push(body.config)
      return reply(201, { id: webhooks.length, config: { url: body.config.url } })
    }
    if (route === 'GET /pulls') return reply(200, pullRequest.state === 'open' ? [pullRequest] : [])
    if (route === `GET /pulls/${PULL_REQUEST}`) return reply(200, pullRequest)
    if (route.startsWith('POST /statuses/')) {
      statuses.push({ sha: route.slice('POST /statuses/'.length), ...body })
      return reply(201, {})
    }
    if (route === `GET /issues/${PULL_REQUEST}/comments`)
      return reply(
        200,
        [...comments].map(([id, body]) => ({ id, body })),
      )
    if (route === `POST /issues/${PULL_REQUEST}/comments`) {
      comments.set(comments.size + 1, body.body)
      return reply(201, { id: comments.size })
    }
    if (route.startsWith('PATCH /issues/comments/') && comments.has(id)) {
      comments.set(id, body.body)
      return reply(200, { id })
    }
    unexpected.push(route)
    return reply(404, { message: 'not found' })
  }

  async function deliver(event: string, content: object) {
    const [webhook] = webhooks
    if (!webhook) throw new Error('the server has created no webhook')
    const request = bodies.webhookRequest(event, content, webhook)
    await until(async () => {
      const response = await fetch(webhook.url, request).catch(() => undefined)
      if (response && response.status < 500 && response.status !== 202)
        throw new Error(`the webhook was refused with ${response.status}: ${await response.text()}`)
      return response?.status === 202
    })
  }

  return {
    url: server.url,
    repository,
    statuses,
    comments,
    webhooks,
    unexpected,
    /** Reports what `main` has become. */
    async push(before: string) {
      const after = repository.git('rev-parse', 'main')
      const message = repository.git('log', '-1', '--format=%s', after)
      const head = { id: after, message, url: `${server.url}/${IDENTIFIER}/commit/${after}` }
      await deliver('push', bodies.push({ before, after, head_commit: head, repository: described() }))
      return after
    },
    /** Reports a new tag. */
    async tag(name: string) {
      const after = repository.git('rev-parse', `${name}^{commit}`)
      const tag = { ref: `refs/tags/${name}`, before: bodies.ZEROS, after, commits: [], head_commit: null }
      await deliver('push', bodies.push({ ...tag, repository: described() }))
    },
    /** Reports a pull request of a branch into `main`. */
    async report(action: string, branch: string, changes: Partial<typeof pullRequest> = {}) {
      const head = repository.git('rev-parse', branch)
      repository.git('update-ref', `refs/pull/${PULL_REQUEST}/head`, head)
      const { base, head: described_ } = bodies.pullRequest()
      pullRequest = bodies.pullRequest({
        base: { ...base, sha: repository.git('rev-parse', 'main') },
        head: { ...described_, label: branch, ref: branch, sha: head },
        ...changes,
      })
      await deliver('pull_request', { ...bodies.pullRequestEvent(action, pullRequest), repository: described() })
      return head
    },
    /** State of the last status of a commit; undefined without one. */
    statusOf: (sha: string) => statuses.findLast((status) => status.sha === sha)?.state,
  }
}

export type Gitea = Awaited<ReturnType<typeof startGitea>>
