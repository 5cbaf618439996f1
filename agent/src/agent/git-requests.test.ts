import { access, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GitOperation } from '@groundstate/contract/git-operations'
import { expect, test } from 'vitest'
import { startAgent, startServer, temporaryDirectory } from '../testing/agent-fixture.ts'
import { kill, spawnAgent } from '../testing/agent-process.ts'
import { USER } from '../testing/git-server.ts'
import { archiveFile, servedRepository, unpacked } from '../testing/served-repository.ts'

/** Git operations executed by an agent, in repositories of a real git server. */

async function setUp(options: Parameters<typeof servedRepository>[0] = {}) {
  const server = await startServer()
  const served = await servedRepository(options)
  const remote = { key: 'acme', url: served.remote.url, basic: USER }
  return { ...served, server, remote }
}

function archiveOf(sha: string): GitOperation {
  const commit = { sha, ref: 'refs/heads/main' }
  return { kind: 'archive', source: { commit }, submodules: false, maxBytes: 1_000_000 }
}

test('an agent reports what it has read', async () => {
  const { server, remote, repository } = await setUp()
  await startAgent(server, { accepts: ['repository'] })
  const sha = repository.commit({ 'main.tf': '' }, 'First')

  const refs = server.git.submit({ remote, operation: { kind: 'refs' } })
  const commit = server.git.submit({ remote, operation: { kind: 'commit', commit: { sha, ref: 'refs/heads/main' } } })

  expect(await refs.reported).toEqual({
    result: { defaultBranch: 'main', branches: [{ name: 'main', sha }], tags: [] },
  })
  expect(await commit.reported).toMatchObject({ result: { message: 'First', author: { name: 'Ada' } } })
})

test('an archive is uploaded before its report, and nothing of it stays on the agent', async () => {
  const { server, remote, repository } = await setUp()
  const { workDir } = await startAgent(server)
  const sha = repository.commit({ 'main.tf': 'one', 'modules/a.tf': 'two' })

  const operation = server.git.submit({ remote, operation: archiveOf(sha) })
  const report = await operation.reported
  const file = await archiveFile()
  await writeFile(file, operation.archive() ?? '')

  expect(await unpacked(file)).toEqual({ 'main.tf': 'one', 'modules/a.tf': 'two' })
  expect(report).toEqual({
    result: { tree: repository.git('rev-parse', `${sha}^{tree}`), size: operation.archive()?.length },
  })
  await expect.poll(async () => readdir(join(workDir, 'archives'))).toEqual([])
})

test('the log of an agent has no credential', async () => {
  const { server, remote, repository } = await setUp()
  const { logged } = await startAgent(server)
  repository.commit({ 'main.tf': '' })

  const operation = server.git.submit({ remote, operation: { kind: 'refs' } })
  await operation.reported

  expect(JSON.stringify(logged)).toContain('git operation executed')
  expect(JSON.stringify(logged)).not.toContain(USER.password)
})

test('an error of git is reported with its kind', async () => {
  const { server, remote } = await setUp()
  await startAgent(server)
  const basic = { username: 'ada', password: 'wrong' }

  const refused = server.git.submit({ remote: { ...remote, basic }, operation: { kind: 'refs' } })
  const metadata = server.git.submit({
    remote: { key: 'm', url: 'http://169.254.169.254/a' },
    operation: { kind: 'refs' },
  })

  expect(await refused.reported).toMatchObject({ error: { kind: 'unauthorised' } })
  expect(await metadata.reported).toEqual({
    error: {
      kind: 'unreachable',
      message:
        'git may not connect to 169.254.169.254: 169.254.169.254 is a link-local or metadata address, which the agent never calls',
    },
  })
})

test('the lease of a running operation is renewed, and two operations leave room for other requests', async () => {
  const { server, remote } = await setUp({ intercept: () => true })
  await startAgent(server)

  const held = [1, 2].map(() => server.git.submit({ remote, operation: { kind: 'refs' }, leaseMs: 4_000 }))

  for (const operation of held) await expect.poll(operation.heartbeats, { timeout: 20_000 }).toBeGreaterThan(1)
  expect(server.git.claims()).toBe(0)
  expect(server.tasks.claims()).toBe(1)
  expect(server.claims()).toBe(1)
})

test('an operation whose lease is lost ends without a report', async () => {
  const { server, remote } = await setUp({ intercept: () => true })
  const { logged } = await startAgent(server)
  const operation = server.git.submit({ remote, operation: { kind: 'refs' }, leaseMs: 4_000 })
  await expect.poll(operation.heartbeats).toBeGreaterThan(0)

  operation.lose()

  await expect.poll(() => logged.map(({ message }) => message)).toContain('git operation dropped')
  await expect.poll(() => server.git.claims()).toBe(1)
})

test('a draining agent finishes its operation', async () => {
  let release: (() => void) | undefined
  const { server, remote, repository } = await setUp({
    intercept: (_, response) => {
      if (release) return false
      release = () => response.writeHead(503).end()
      return true
    },
  })
  repository.commit({ 'main.tf': '' })
  const agent = await startAgent(server)
  const operation = server.git.submit({ remote, operation: { kind: 'refs' } })
  await expect.poll(() => release).toBeDefined()

  agent.stop()
  await expect.poll(() => server.git.claims()).toBe(0)
  release?.()

  expect(await operation.reported).toMatchObject({ error: { kind: 'unreachable' } })
  await agent.ended
})

test('an agent that starts after a kill removes archives of the former one', async () => {
  const { server, remote, repository } = await setUp({ holdAfter: () => 0 })
  const sha = repository.commit({ 'main.tf': '' })
  const workDir = await temporaryDirectory()
  const agent = spawnAgent(server, workDir)
  const operation = server.git.submit({ remote, operation: archiveOf(sha), leaseMs: 4_000 })
  await expect.poll(operation.heartbeats, { timeout: 30_000 }).toBeGreaterThan(0)
  const left = join(workDir, 'archives', 'gitreq-1.tar.gz')
  await writeFile(left, 'part')

  await kill(agent)
  await startAgent(server, { workDir })

  await expect.poll(async () => access(left).then(String, String)).toContain('ENOENT')
}, 60_000)
