import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runAgent } from '@groundstate/agent/agent/agent'
import { createAgentLog } from '@groundstate/agent/log'
import { kill, spawnAgent } from '@groundstate/agent/testing/agent-process'
import { USER, makeRepository, serveGit } from '@groundstate/agent/testing/git-server'
import { archiveFile, unpacked } from '@groundstate/agent/testing/served-repository'
import { expect, onTestFinished, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { eventually } from '../../../testing/task-runs.ts'
import { localCertificate } from '../../../tls/authority.ts'
import { startFakeHost } from '../../../vcs-hosts/testing/fake-host.ts'
import { fetchThroughPool } from '../../tasks/task-requests/fetch.ts'
import { createPoolSetting, poolRelation } from '../../tasks/task-requests/testing/pool-tasks.ts'
import { openConnection } from '../connections/connection.ts'
import { fetchArchive, runGit } from './run.ts'

/** Real agents between the server and a host with a git server, which the server itself may not call. */

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' })
const serverUrl = await app.listen()

type Setting = Awaited<ReturnType<typeof createPoolSetting>>

async function startAgent({ poolToken }: Setting, options: { name?: string; caFile?: string } = {}) {
  const workDir = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
  const stop = new AbortController()
  const ignore = () => {}
  const log = createAgentLog({ debug: ignore, info: ignore, warn: ignore, error: ignore })
  const agent = {
    serverUrl,
    token: poolToken,
    name: 'rack',
    concurrency: 1,
    workDir,
    log,
    accepts: ['repository'] as const,
  }
  const ended = runAgent({ ...agent, ...options, signal: stop.signal, forcefulSignal: stop.signal })
  onTestFinished(async () => {
    stop.abort()
    await ended
    await rm(workDir, { recursive: true, force: true })
  })
}

/** A connection through a new pool. */
async function connect(url: string, attributes: object = {}) {
  const setting = await createPoolSetting(app)
  const send = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown) =>
    app.request({ method, url: `/api/v2/${path}`, token: setting.user.token, ...(body !== undefined && { body }) })
  const created = await send('POST', `organizations/${setting.organization}/oauth-clients`, {
    data: {
      type: 'oauth-clients',
      attributes: {
        'service-provider': 'gitea',
        'http-url': url,
        'api-url': url,
        'oauth-token-string': USER.password,
        ...attributes,
      },
      relationships: poolRelation(setting.poolId),
    },
  })
  expect(created.status).toBe(201)
  const { id, relationships } = created.json().data
  const token: string = relationships['oauth-tokens'].data[0].id
  const check = async () => (await send('POST', `oauth-clients/${id}/actions/test`)).json().data.attributes
  /** Once the agent is known to the server. */
  const checked = async () =>
    eventually(async () => {
      const result = await check()
      return result.message?.includes('is online') ? undefined : result
    })
  return { setting, send, id, token, check, checked }
}

const REPLY = { body: { id: 1, login: 'mona', avatar_url: '', html_url: '', full_name: 'x'.repeat(3_000_000) } }

async function repositoryOf({ setting, token }: { setting: Setting; token: string }, url: string) {
  const organization = await app.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', setting.organization)
    .executeTakeFirstOrThrow()
  return {
    id: 'repo-test',
    organization_id: organization.id,
    oauth_token_id: token,
    github_app_installation_id: null,
    clone_url: url,
    ssh_url: null,
  }
}

/** A connection to a git server that needs the credential. */
async function gitConnection(options: Parameters<typeof serveGit>[0] = {}) {
  const server = await serveGit(options)
  const repository = makeRepository(server.root, 'acme/network')
  const sha = repository.commit({ 'main.tf': 'one', 'modules/a.tf': 'two' })
  const attributes = { 'service-provider': 'git', 'oauth-token-username': USER.username }
  const connection = await connect(server.url, attributes)
  const row = await repositoryOf(connection, `${server.url}/acme/network`)
  const archive = { kind: 'archive', source: { commit: { sha, ref: 'refs/heads/main' } } } as const
  const operation = { ...archive, submodules: false, maxBytes: 1_000_000 }
  return { ...connection, server, repository, sha, row, operation }
}

test('the API of a host is called through an agent, with long responses', async () => {
  const host = await startFakeHost({ 'GET /user': () => REPLY })
  const { setting, checked } = await connect(host.url)
  await startAgent(setting)

  expect(await checked()).toEqual({ result: 'accepted', 'service-provider-user': 'mona', message: null })
  expect(host.requests[0]?.headers.authorization).toContain(USER.password)
})

test('without an agent the pool is named, and what to do', async () => {
  const host = await startFakeHost({ 'GET /user': () => REPLY })
  const { check } = await connect(host.url)

  const { result, message } = await check()

  expect(result).toBe('unreachable')
  expect(message).toContain(
    'no agent of the agent pool cellar that accepts work for repositories is online: start one, then try again',
  )
  expect(host.requests).toEqual([])
})

test('a host that the agent does not reach names the agent', async () => {
  const { setting, checked } = await connect('http://127.0.0.1:1')
  await startAgent(setting)

  expect((await checked()).message).toContain('the agent rack of the pool cellar: connection refused')
})

test('the certificate authorities of the agent apply to the API and to git', async () => {
  const certificate = await localCertificate(await mkdtemp(join(tmpdir(), 'groundstate-host-')), [])
  const isApi = (path: string | undefined) => path === '/user'
  const { server, setting, token, row } = await gitConnection({
    tls: certificate,
    intercept: ({ url }, response) => {
      if (isApi(url)) response.end(JSON.stringify(REPLY.body))
      return isApi(url)
    },
  })
  await app.db
    .updateTable('oauth_clients')
    .set({ service_provider: 'gitea' })
    .where('http_url', '=', server.url)
    .execute()
  await startAgent(setting, { caFile: certificate.caFile ?? '' })
  const ctx = app.as()

  const refs = await eventually(async () => runGit<'refs'>(ctx, row, { kind: 'refs' }).catch(unlessUnknown))
  const { access, host } = await openConnection(ctx, token)

  expect(refs.defaultBranch).toBe('main')
  expect(await host.api?.(access).readUser()).toBe('mona')
})

test('a pool that a connection uses cannot be deleted', async () => {
  const { setting, send } = await connect('http://127.0.0.1:1', { name: 'forge' })

  const refused = await send('DELETE', `agent-pools/${setting.poolId}`)

  expect(refused.status).toBe(409)
  expect(refused.json().errors[0].detail).toBe('the agent pool cellar is used by the connection forge')
})

test('git reads a repository, and its archive becomes a blob', async () => {
  const { setting, row, operation, sha, repository } = await gitConnection()
  await startAgent(setting)
  const ctx = app.as()

  const refs = await eventually(async () => runGit<'refs'>(ctx, row, { kind: 'refs' }).catch(unlessUnknown))
  const result = await fetchArchive(ctx, row, { operation, blobKey: 'repository-archives/pool-1' })
  const file = await archiveFile()
  await writeFile(file, await app.blobs.read('repository-archives/pool-1'))

  expect(refs).toEqual({ defaultBranch: 'main', branches: [{ name: 'main', sha }], tags: [] })
  expect(await unpacked(file)).toEqual({ 'main.tf': 'one', 'modules/a.tf': 'two' })
  expect(result.tree).toBe(repository.git('rev-parse', 'HEAD^{tree}'))
})

/** Undefined until the server knows the agent. */
function unlessUnknown(error: Error) {
  if (error.message.includes('is online')) return undefined
  throw error
}

test('a refused token marks the connection', async () => {
  const { setting, row, send, id } = await gitConnection({
    intercept: (_, response) => {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return true
    },
  })
  await startAgent(setting)

  const failed = await eventually(async () =>
    runGit<'refs'>(app.as(), row, { kind: 'refs' }).catch((error: Error) =>
      error.message.includes('is online') ? undefined : error,
    ),
  )

  expect(failed).toMatchObject({ kind: 'unauthorised' })
  expect((await send('GET', `oauth-clients/${id}`)).json().data.attributes).toMatchObject({
    status: 'failed',
    'status-message': expect.stringContaining('the agent rack of the pool cellar'),
  })
})

test('another agent continues after a kill, and an agent calls APIs while git runs', async () => {
  let isHeld = true
  const { setting, row, operation } = await gitConnection({ intercept: () => isHeld })
  const host = await startFakeHost({ 'GET /user': () => REPLY })
  const workDir = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
  onTestFinished(() => rm(workDir, { recursive: true, force: true }))
  const agent = spawnAgent({ url: serverUrl }, workDir, { GROUNDSTATE_AGENT_TOKEN: setting.poolToken })
  const leased = app.db.selectFrom('task_requests').select('agent_name').where('status', '=', 'leased')
  const blobKey = 'repository-archives/pool-2'
  const archive = eventually(async () => fetchArchive(app.as(), row, { operation, blobKey }).catch(unlessUnknown))
  await eventually(async () => (await leased.execute()).length > 0)

  const called = await fetchThroughPool(app.as(), { id: setting.poolId, name: 'cellar' })(`${host.url}/user`)
  await kill(agent)
  isHeld = false
  await startAgent(setting, { name: 'spare' })
  app.clock.advance(46_000)

  expect(called.status).toBe(200)
  expect((await archive).size).toBeGreaterThan(0)
  expect(await app.blobs.stat(blobKey)).toBeDefined()
}, 60_000)
