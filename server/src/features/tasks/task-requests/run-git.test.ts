import { archiveOf } from '@groundstate/agent/testing/archive'
import { AGENT_API } from '@groundstate/contract/agent'
import type { GitOperation } from '@groundstate/contract/git-operations'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { type FakeAgent, createFakeAgent } from '../../../testing/fake-agent.ts'
import { eventually } from '../../../testing/task-runs.ts'
import { runGitThroughPool } from './run-git.ts'
import { createPoolAgent, createPoolSetting } from './testing/pool-tasks.ts'

/** Git operations through the agents of a pool, at the level of the protocol. */

const app = await createTestApp()
const SHA = 'a'.repeat(40)
const REMOTE = { key: 'acme', url: 'https://git.inside/acme/network', basic: { username: 'ada', password: 's3cret' } }
const REFS = { defaultBranch: 'main', branches: [{ name: 'main', sha: SHA }], tags: [] }
const ARCHIVE = {
  kind: 'archive',
  source: { commit: { sha: SHA, ref: null } },
  submodules: false,
  maxBytes: 1_000_000,
} as const

async function setUp() {
  const setting = await createPoolSetting(app)
  const agent = await createPoolAgent(app, setting)
  // The server must know that this agent accepts requests.
  await agent.claimTask()
  const pool = { id: setting.poolId, name: setting.poolName }
  const run = (
    operation: GitOperation = { kind: 'refs' },
    options: { blobKey?: string; signal?: AbortSignal } = {},
  ) => {
    const { signal, ...work } = options
    const result = runGitThroughPool(app.as(), pool, { remote: REMOTE, operation, ...work }, { signal })
    return result.catch((error: Error & { kind?: string }) => ({ kind: error.kind, message: error.message }))
  }
  return { setting, agent, run }
}

async function take(agent: FakeAgent) {
  return eventually(async () => agent.claimGit({ waitMs: 2_000 }))
}

async function rowsOf(poolId: string) {
  const { rows } = await sql<{ status: string; text: string }>`select status, encode(request, 'escape') as text
    from task_requests where agent_pool_id = ${poolId}`.execute(app.db)
  return rows
}

async function isQueued(poolId: string) {
  return eventually(async () => (await rowsOf(poolId)).some(({ status }) => status === 'queued'))
}

let count = 0
const newKey = () => `repository-archives/test-${(count += 1)}`

test('an agent gets the operation with the credential, and the caller the result', async () => {
  const { setting, agent, run } = await setUp()

  const result = run()
  const request = await take(agent)
  const [row] = await rowsOf(setting.poolId)
  const reports = [await request.report({ result: REFS }), await request.heartbeat()]

  expect(request).toMatchObject({ remote: REMOTE, operation: { kind: 'refs' }, leaseMs: 45_000 })
  expect(row?.text).not.toContain('s3cret')
  expect(reports.map(({ status }) => status)).toEqual([204, 204])
  expect(await result).toEqual(REFS)
  expect(await rowsOf(setting.poolId)).toEqual([])
})

test('an error of git keeps its kind, and names the agent', async () => {
  const { agent, run } = await setUp()
  const result = run()

  await (await take(agent)).report({ error: { kind: 'not-found', message: 'there is no such commit' } })

  expect(await result).toEqual({
    kind: 'not-found',
    message: 'the agent rack of the pool cellar: there is no such commit',
  })
})

test.each([{ branches: 'none' }, {}, { defaultBranch: 'main', branches: [{ name: 'main', sha: 'x' }], tags: [] }])(
  'the result %j is not accepted',
  async (reported) => {
    const { agent, run } = await setUp()
    const result = run()

    await (await take(agent)).report({ result: reported })

    expect(await result).toEqual({
      kind: 'unreachable',
      message: 'the agent rack of the pool cellar reported an invalid result of the git operation',
    })
  },
)

test('an archive is stored before the report; a repeated upload changes nothing', async () => {
  const { agent, run } = await setUp()
  const blobKey = newKey()
  const archive = archiveOf({ 'main.tf': 'one' })
  const result = run(ARCHIVE, { blobKey })
  const request = await take(agent)

  const uploads = [await request.upload(archive), await request.upload(archiveOf({ 'main.tf': 'other' }))]
  await request.report({ result: { tree: SHA, size: 1 } })

  expect(uploads.map(({ status }) => status)).toEqual([204, 204])
  expect(await result).toEqual({ tree: SHA, size: archive.length })
  expect(archive.equals(await app.blobs.read(blobKey))).toBe(true)
})

test('an archive that was not uploaded, or must not be unpacked, is an error', async () => {
  const { agent, run } = await setUp()
  const missing = run(ARCHIVE, { blobKey: newKey() })
  await (await take(agent)).report({ result: { tree: SHA, size: 1 } })
  const blobKey = newKey()
  const damaged = run(ARCHIVE, { blobKey })
  const request = await take(agent)
  await request.upload(Buffer.from('no archive'))
  await request.report({ result: { tree: SHA, size: 1 } })

  expect(await missing).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('did not upload it') })
  expect(await damaged).toMatchObject({ kind: 'invalid', message: expect.stringContaining('cannot be used') })
  expect(await app.blobs.stat(blobKey)).toBeUndefined()
})

test('an operation without an archive takes no upload', async () => {
  const { agent, run } = await setUp()
  const result = run()
  const request = await take(agent)

  const upload = await request.upload(Buffer.from('a'))
  await request.report({ result: REFS })
  await result

  expect(upload.status).toBe(409)
})

test('a lease is kept by heartbeats', async () => {
  const { agent, run } = await setUp()
  const result = run()
  const request = await take(agent)

  for (let beats = 0; beats < 5; beats += 1) {
    app.clock.advance(20_000)
    expect((await request.heartbeat()).status).toBe(204)
    await eventually(async () => isKept(request.id))
  }
  await request.report({ result: REFS })

  expect(await result).toEqual(REFS)
})

/** Whether the waiting process has said since the last advance of the clock that it wants the result. */
async function isKept(id: string) {
  const { rows } = await sql`select from task_requests
    where id = ${id} and claim_until > ${new Date(app.clock.now().getTime() + 29_000)}`.execute(app.db)
  return rows.length === 1
}

test('the operation of a lost agent is given to another, and the former one gets 401', async () => {
  const { agent, run, setting } = await setUp()
  const other = await createPoolAgent(app, setting, 'spare')
  const blobKey = newKey()
  const result = run(ARCHIVE, { blobKey })
  const first = await take(agent)

  app.clock.advance(46_000)
  const second = await take(other)
  const late = [await first.heartbeat(), await first.upload(archiveOf({})), await first.report({ result: REFS })]
  await second.upload(archiveOf({ 'main.tf': '' }))
  await second.report({ result: { tree: SHA, size: 1 } })

  expect(second.id).toBe(first.id)
  expect(late.map(({ status }) => status)).toEqual([401, 401, 401])
  expect(await result).toMatchObject({ tree: SHA })
})

test('an operation that loses three agents fails', async () => {
  const { agent, run, setting } = await setUp()
  const result = run()

  for (let attempts = 0; attempts < 3; attempts += 1) {
    await agent.claimTask()
    await take(agent)
    app.clock.advance(46_000)
  }

  expect(await result).toEqual({
    kind: 'unreachable',
    message: 'the agent rack of the pool cellar was lost during the git operation, as were those before it',
  })
  expect(await rowsOf(setting.poolId)).toEqual([])
})

test('without an agent that accepts the work nothing is queued', async () => {
  const setting = await createPoolSetting(app)
  const former = await createFakeAgent(app, { token: setting.poolToken, accepts: ['plan', 'apply', 'task'] })
  await former.claimTask()

  const pool = { id: setting.poolId, name: 'cellar' }
  const failed = runGitThroughPool(app.as(), pool, { remote: REMOTE, operation: { kind: 'refs' } })

  await expect(failed).rejects.toThrow('no agent of the agent pool cellar that accepts work for repositories is online')
  expect(await rowsOf(setting.poolId)).toEqual([])
})

test('an operation that waits fails once no agent is online', async () => {
  const { run, setting } = await setUp()
  const result = run()
  await isQueued(setting.poolId)

  app.clock.advance(120_000)

  expect(await result).toMatchObject({ kind: 'unreachable', message: expect.stringContaining('is online: start one') })
})

test('nobody waits for an aborted operation: its agent gets 401', async () => {
  const { agent, run } = await setUp()
  const stop = new AbortController()
  const result = run({ kind: 'refs' }, { signal: stop.signal })
  const request = await take(agent)

  stop.abort(new Error('the server stops'))

  expect(await result).toMatchObject({ message: 'the server stops' })
  expect((await request.heartbeat()).status).toBe(401)
})

test('an operation whose waiting process has died is not claimed, and its agent gets 401', async () => {
  const { agent, run, setting } = await setUp()
  const stop = new AbortController()
  const waiting = run({ kind: 'refs' }, { signal: stop.signal })
  const request = await take(agent)
  // A copy of the row, which no process renews.
  await sql`insert into task_requests (id, agent_pool_id, kind, request, timeout_ms, claim_until, created_at, status,
      agent_name, token_hash, leased_at, lease_expires_at)
    select 'gitreq-dead', agent_pool_id, kind, request, timeout_ms, claim_until, created_at, status, agent_name,
      token_hash, leased_at, lease_expires_at from task_requests where id = ${request.id}`.execute(app.db)
  const heartbeat = async () =>
    app.request({ method: 'POST', url: `${AGENT_API}/git-requests/gitreq-dead/heartbeat`, token: request.token })
  const before = await heartbeat()

  app.clock.advance(61_000)

  expect(before.status).toBe(204)
  expect((await heartbeat()).status).toBe(401)
  stop.abort(new Error('done'))
  await waiting
  expect(await rowsOf(setting.poolId)).toHaveLength(1)
})

test('operations do not keep an agent from claiming requests, nor the other way round', async () => {
  const { agent, run } = await setUp()
  const result = run()
  const request = await take(agent)

  expect(await agent.claimTask({ accepts: ['task', 'repository'] })).toBeUndefined()
  expect(await agent.claimGit()).toBeUndefined()
  await request.report({ result: REFS })
  expect(await result).toEqual(REFS)
})

test.each([
  '',
  'no JSON',
  '{}',
  '{"result":7}',
  '{"error":{"kind":"bad","message":"x"}}',
  '{"error":{"kind":"invalid"}}',
])('the malformed report %j is rejected, and a valid one still accepted', async (body) => {
  const { agent, run } = await setUp()
  const result = run()
  const request = await take(agent)
  const url = `${AGENT_API}/git-requests/${request.id}/answer`

  const refused = await app.request({ method: 'POST', url, token: request.token, body })

  expect(refused.status).toBe(422)
  expect((await request.report({ result: REFS })).status).toBe(204)
  expect(await result).toEqual(REFS)
})

test('requests with another token are rejected', async () => {
  const { agent, run, setting } = await setUp()
  const result = run()
  const request = await take(agent)
  const path = `${AGENT_API}/git-requests/${request.id}`
  const post = async (url: string, token: string | undefined, body?: unknown) =>
    (await app.request({ method: 'POST', url, token, body })).status

  for (const token of [undefined, agent.token, setting.user.token]) {
    expect(await post(`${path}/heartbeat`, token)).toBe(401)
    expect(await post(`${path}/answer`, token, { result: REFS })).toBe(401)
  }
  // Its token is not one of an HTTP request.
  const answer = { durationMs: 1, error: 'x' }
  expect(await post(`${AGENT_API}/task-requests/${request.id}/answer`, request.token, answer)).toBe(401)
  const stranger = await createPoolSetting(app)
  const foreign = await createPoolAgent(app, stranger)
  expect(await foreign.claimGit()).toBeUndefined()
  await request.report({ result: REFS })
  await result
})
