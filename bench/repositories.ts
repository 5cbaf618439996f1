import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { push, repository, webhookRequest } from '../server/src/vcs-hosts/gitea/testing/bodies.ts'
import { median, percentile } from './load.ts'
import { configurationArchive, prepareWorkspace } from './runs.ts'
import { api, type BenchRow, type Target } from './target.ts'

const PUSHES = 30
const WARM_PUSHES = 5
const WORKSPACES = 500
const LAST = 'bench-many-last'
const CLIENTS = 8
const POLL_MS = 2
const TIMEOUT_MS = 60_000

type Webhook = { url: string; secret: string }

/** Pushes to a repository of one workspace, against plain runs, and one push to a repository of 500 workspaces. */
export async function repositoryBenches(target: Target): Promise<BenchRow[]> {
  await using host = await startHost()
  const tokenId = await connect(target, host.url)
  return [...(await pushes(target, { host, tokenId })), await crowd(target, { host, tokenId })]
}

/** Plays Gitea, and keeps the webhooks that the server creates. It has no git: the archives of the commits are never fetched. */
async function startHost() {
  const webhooks = new Map<string, (webhook: Webhook) => void>()
  const server = createServer((request, response) => {
    void answer(request).then(
      ({ status, body }) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      () => response.writeHead(500).end(),
    )
  })

  async function answer(request: IncomingMessage): Promise<{ status: number; body: unknown }> {
    const [, owner, name, rest] = /^\/api\/v1\/repos\/([^/]+)\/([^/?]+)(\/hooks)?/.exec(request.url ?? '') ?? []
    if (request.url === '/api/v1/user') return { status: 200, body: { id: 1, login: 'bench' } }
    if (owner === undefined) return { status: 404, body: {} }
    if (rest === undefined)
      return { status: 200, body: { ...repository(`${owner}/${name}`), clone_url: `${host.url}/${owner}/${name}.git` } }
    if (request.method !== 'POST') return { status: 200, body: [] }
    const { config } = (await json(request)) as { config: Webhook }
    webhooks.get(`${owner}/${name}`)?.(config)
    return { status: 201, body: { id: 1, config: { url: config.url } } }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    webhookOf: async (identifier: string) => new Promise<Webhook>((resolve) => webhooks.set(identifier, resolve)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return host
}

type Connected = { host: Awaited<ReturnType<typeof startHost>>; tokenId: string }

async function connect(target: Target, url: string) {
  const attributes = { 'service-provider': 'gitea', 'http-url': url, 'oauth-token-string': 'a-token-of-the-bench' }
  const { data } = await api(target, 'POST', '/organizations/main/oauth-clients', {
    data: { type: 'oauth-clients', attributes },
  })
  const { data: tokens } = (await api(target, 'GET', `/oauth-clients/${data.id}/oauth-tokens`)) as unknown as {
    data: [{ id: string }]
  }
  return tokens[0].id
}

async function pushes(target: Target, { host, tokenId }: Connected): Promise<BenchRow[]> {
  const created = host.webhookOf('acme/one')
  const workspace = await prepareWorkspace(target, 'bench-pushed', configurationArchive())
  await api(target, 'PATCH', `/workspaces/${workspace.id}`, {
    data: {
      type: 'workspaces',
      attributes: {
        'queue-all-runs': true,
        'vcs-repo': { identifier: 'acme/one', 'oauth-token-id': tokenId, branch: 'main' },
      },
    },
  })
  const webhook = await created
  const plainWorkspace = await prepareWorkspace(target, 'bench-plain', configurationArchive())
  await api(target, 'POST', `/workspaces/${plainWorkspace.id}/actions/lock`)
  const [plain, pushed]: [number[], number[]] = [[], []]
  for (let index = 0; index < PUSHES + WARM_PUSHES; index += 1) {
    await target.turn?.()
    const [run, from] = [index < WARM_PUSHES ? [[], []] : [plain, pushed], performance.now()]
    const { data } = await api(target, 'POST', '/runs', {
      data: { type: 'runs', relationships: { workspace: { data: { type: 'workspaces', id: plainWorkspace.id } } } },
    })
    run[0]?.push(performance.now() - from)
    const began = performance.now()
    const sha = await deliver(webhook, 'acme/one')
    await until(async () => (await latestRun(target, workspace.id)).message === sha)
    run[1]?.push(performance.now() - began)
    await api(target, 'POST', `/runs/${data.id}/actions/discard`)
  }
  const less = { unit: 'ms', better: 'less' } as const
  return [
    { name: 'plain run, POST to pending, median', value: median(plain), ...less },
    { name: 'webhook to run, median', value: median(pushed), ...less },
    { name: 'webhook to run, 95 %', value: percentile(pushed, 0.95), ...less },
    { name: 'added by a webhook to a plain run', value: median(pushed) - median(plain), ...less, budget: 60 },
  ]
}

async function crowd(target: Target, { host, tokenId }: Connected): Promise<BenchRow> {
  const created = host.webhookOf('acme/many')
  const names = Array.from({ length: WORKSPACES - 1 }, (_, index) => `bench-many-${index}`)
  const create = async (name: string) => {
    const attributes = {
      name,
      'queue-all-runs': true,
      'vcs-repo': { identifier: 'acme/many', 'oauth-token-id': tokenId, branch: 'main' },
    }
    await api(target, 'POST', '/organizations/main/workspaces', { data: { type: 'workspaces', attributes } })
  }
  const createRest = async () => {
    for (let name = names.pop(); name !== undefined; name = names.pop()) await create(name)
  }
  await Promise.all(Array.from({ length: CLIENTS }, createRest))
  await create(LAST)
  const webhook = await created
  // The first runs of the workspaces fail, this one last: there is nothing to fetch.
  const failed = `/organizations/main/runs?filter[workspace_names]=${LAST}&filter[status]=errored`
  await until(async () => ((await api(target, 'GET', failed)).data as unknown as unknown[]).length === 1)
  await target.turn?.()
  const from = performance.now()
  await deliver(webhook, 'acme/many')
  const decided = async () => {
    const path = '/organizations/main/vcs-deliveries?filter[repository]=acme/many&page[size]=1'
    const { data } = (await api(target, 'GET', path)) as unknown as {
      data: { attributes: { status: string; 'run-count': number } }[]
    }
    return data[0]?.attributes['run-count'] === WORKSPACES && data[0].attributes.status === 'decided'
  }
  await until(decided)
  return {
    name: `push decided in ${WORKSPACES} workspaces`,
    value: performance.now() - from,
    unit: 'ms',
    better: 'less',
    budget: 2000,
  }
}

/** Reports a new commit, whose message is its id. */
async function deliver({ url, secret }: Webhook, identifier: string) {
  const sha = randomBytes(20).toString('hex')
  const content = push({
    after: sha,
    head_commit: { ...(push().head_commit as object), id: sha, message: sha },
    repository: repository(identifier),
  })
  const response = await fetch(url, webhookRequest('push', content, { secret }))
  if (response.status !== 202)
    throw new Error(`the webhook failed with status ${response.status}: ${await response.text()}`)
  return sha
}

async function latestRun(target: Target, workspaceId: string) {
  const { data } = (await api(target, 'GET', `/workspaces/${workspaceId}/runs?page[size]=1`)) as unknown as {
    data: [{ attributes: { message: string } }?]
  }
  return { message: data[0]?.attributes.message }
}

async function until(isDone: () => Promise<boolean>) {
  const end = Date.now() + TIMEOUT_MS
  while (!(await isDone())) {
    if (Date.now() > end) throw new Error('nothing happened for a minute')
    await pause(POLL_MS)
  }
}
