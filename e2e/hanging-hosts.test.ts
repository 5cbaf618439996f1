import { createServer, type AddressInfo, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { USER } from '../agent/src/testing/git-server.ts'
import { IDENTIFIER, startGitea } from './gitea.ts'
import { until } from './run-progress.ts'
import { type BootedServer, bootServer } from './server.ts'

/** More than the workers of a kind of job. */
const REPOSITORIES = 16

/** Accepts connections and never answers. */
async function startHangingServer() {
  const sockets = new Set<Socket>()
  const counts = { opened: 0, ended: 0 }
  const server = createServer((socket) => {
    counts.opened += 1
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => (counts.ended += 1))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, counts }
}

async function connect(server: BootedServer, attributes: object): Promise<string> {
  const client = await server.api('POST', '/organizations/main/oauth-clients', {
    data: { type: 'oauth-clients', attributes },
  })
  return client.data.relationships['oauth-tokens'].data[0].id
}

async function follow(server: BootedServer, name: string, vcsRepo: object) {
  const attributes = { name, 'queue-all-runs': true, 'vcs-repo': vcsRepo }
  await server.api('POST', '/organizations/main/workspaces', { data: { type: 'workspaces', attributes } })
}

test('a git server that hangs holds up neither other connections nor the end of the server', async () => {
  const server = await bootServer()
  const hanging = await startHangingServer()
  const hangingToken = await connect(server, { 'service-provider': 'git', 'http-url': hanging.url })
  for (let index = 0; index < REPOSITORIES; index += 1)
    await follow(server, `hanging-${index}`, { identifier: `acme/r${index}`, 'oauth-token-id': hangingToken })
  await until(async () => hanging.counts.opened >= 4)
  const gitea = await startGitea()
  gitea.repository.commit({ 'main.tf': '' })
  const token = await connect(server, {
    'service-provider': 'gitea',
    'http-url': gitea.url,
    'oauth-token-username': USER.username,
    'oauth-token-string': USER.password,
  })

  await follow(server, 'network', { identifier: IDENTIFIER, 'oauth-token-id': token })
  await until(async () => gitea.webhooks.length === 1)
  const { ended } = hanging.counts
  const from = performance.now()
  const code = await server.stop()

  // Git gives up after a minute without progress.
  expect(ended).toBe(0)
  expect(performance.now() - from).toBeLessThan(30_000)
  expect(code).toBe(0)
  expect(server.output()).not.toContain('"level":"error"')
})
