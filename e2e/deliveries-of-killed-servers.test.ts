import { json } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { USER, makeRepository, serveGit } from '@groundstate/agent/testing/git-server'
import { expect, test } from 'vitest'
import * as bodies from '../server/src/vcs-hosts/gitea/testing/bodies.ts'
import { until } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'

const IDENTIFIER = 'acme/network'
const WORKSPACES = 30
/** Times from a delivery to the kill, in ms: from its decision to the release of the runs. */
const KILLED_AFTER_MS = [5, 60, 150, 400]

type Hook = { url: string; secret: string }

/** A Gitea with real git, and the webhook that is created there. */
async function startHost() {
  const created = Promise.withResolvers<Hook>()
  const server = await serveGit({
    intercept: (request, response) => {
      if (!request.url?.startsWith('/api/')) return false
      const send = (body: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
      const readHook = async () => {
        const { config } = (await json(request)) as { config: Hook }
        created.resolve(config)
        send({ id: 1, config: {} })
      }
      if (request.url.includes('/hooks') && request.method === 'POST') void readHook()
      else if (request.url.includes('/hooks')) send([])
      else if (request.url.endsWith('/user')) send(bodies.mona)
      else if (request.url.endsWith(`/repos/${IDENTIFIER}`))
        send({ ...bodies.repository(IDENTIFIER), clone_url: clone() })
      else response.writeHead(404).end()
      return true
    },
  })
  const clone = () => `${server.url}/${IDENTIFIER}.git`
  const repository = makeRepository(server.root, `${IDENTIFIER}.git`)
  repository.commit({ 'main.tf': '' })
  return { url: server.url, repository, hook: created.promise }
}

type Host = Awaited<ReturnType<typeof startHost>>

async function connect(server: BootedServer, host: Host) {
  const { data: client } = await server.api('POST', '/organizations/main/oauth-clients', {
    data: {
      type: 'oauth-clients',
      attributes: {
        'service-provider': 'gitea',
        'http-url': host.url,
        'oauth-token-string': USER.password,
        'oauth-token-username': USER.username,
      },
    },
  })
  const tokenId: string = client.relationships['oauth-tokens'].data[0].id
  const ids: string[] = []
  for (let number = 0; number < WORKSPACES; number += 1) {
    const { data } = await server.api('POST', '/organizations/main/workspaces', {
      data: {
        type: 'workspaces',
        attributes: {
          name: `network-${number}`,
          'queue-all-runs': true,
          'file-triggers-enabled': true,
          'working-directory': 'live',
          'vcs-repo': { identifier: IDENTIFIER, 'oauth-token-id': tokenId, branch: 'main' },
        },
      },
    })
    ids.push(data.id)
  }
  return ids
}

/** Commits to `live`, and sends the webhook of the push. */
async function push({ repository }: Host, { path, secret }: { path: string; secret: string }, server: BootedServer) {
  const before = repository.git('rev-parse', 'HEAD')
  const after = repository.commit({ 'live/main.tf': `# after ${before}` })
  const head = { id: after, message: 'Change', url: '' }
  const content = bodies.push({ before, after, head_commit: head, commits: [head] })
  const webhook = bodies.webhookRequest('push', content, { secret, id: after })
  const response = await fetch(`${server.url}${path}`, webhook)
  expect(response.status).toBe(202)
  return after
}

type Resource = { attributes: any; relationships: any }

async function versionsOf(server: BootedServer, id: string) {
  const url = `/workspaces/${id}/configuration-versions?include=ingress_attributes&page[size]=100`
  const { data, included } = await server.api('GET', url)
  const commits = new Map<string, string>(
    (included ?? []).map(({ id, attributes }: { id: string } & Resource) => [id, attributes['commit-sha']]),
  )
  return (data as Resource[]).map(({ attributes, relationships }) => ({
    status: attributes.status as string,
    sha: commits.get(relationships['ingress-attributes'].data?.id) ?? '',
  }))
}

test(
  'a server that is killed between a push and its runs neither loses nor repeats any',
  { timeout: 600_000 },
  async () => {
    const host = await startHost()
    const server = await bootServer({ GROUNDSTATE_AGENTS: '0' })
    const workspaces = await connect(server, host)
    const { url, secret } = await host.hook
    const hook = { path: new URL(url).pathname, secret }
    // Every first run has its commit before the first push.
    await until(async () => {
      const versions = await Promise.all(workspaces.map(async (id) => versionsOf(server, id)))
      return versions.every(([first]) => first?.status === 'uploaded')
    })

    const pushed: string[] = []
    for (const ms of KILLED_AFTER_MS) {
      pushed.push(await push(host, hook, server))
      await pause(ms)
      await server.stop('SIGKILL')
      await server.restart()
    }
    const isDone = async () => {
      const { data } = await server.api('GET', '/organizations/main/vcs-deliveries')
      if (data.length < pushed.length || data.some(({ attributes }: Resource) => attributes.status !== 'decided'))
        return
      const versions = await Promise.all(workspaces.map(async (id) => versionsOf(server, id)))
      return versions.every((each) => each.every(({ status }) => status === 'uploaded')) ? versions : undefined
    }
    const versions = await until(isDone)
    const runs = await Promise.all(workspaces.map(async (id) => server.api('GET', `/workspaces/${id}/runs`)))

    for (const each of versions) {
      const ran = each.map(({ sha }) => sha).filter((sha) => pushed.includes(sha))
      expect(ran.toReversed()).toEqual(pushed)
    }
    for (const { data } of runs) {
      expect(data).toHaveLength(pushed.length + 1)
      expect(data.at(-1).attributes.status).toBe('plan_queued')
    }
  },
)
