import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { transact } from '../../../db/db.ts'
import { createTestApp } from '../../../testing/app.ts'
import { connectGithub, uploadCommit } from '../../../testing/commits.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun } from '../../../testing/runs.ts'
import { pullRequest, pullRequestEvent } from '../../../vcs-hosts/github/testing/bodies.ts'
import { insertRun } from '../../runs/runs/service.ts'
import { webhookContext } from '../../vcs/repositories/service.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { decideLater } from './decide-delivery.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const user = await createUser(app)

type Method = 'GET' | 'POST' | 'PATCH'
async function send(method: Method, path: string, data?: unknown) {
  const response = await app.request({
    method,
    url: `/api/v2/${path}`,
    token: user.token,
    ...(data ? { body: { data } } : {}),
  })
  expect(response.status).toBeLessThan(300)
  return response
}

/** A workspace that plans the pull requests of acme/network for `main`. */
async function connect() {
  const { name: organization } = await createOrganization(app, user)
  const tokenId = await connectGithub(app, { organization, token: user.token })
  const addWorkspace = async (attributes: object = {}) => {
    const { id } = await createWorkspace(app, { organization, actor: user.actor })
    const repository = { identifier: 'acme/network', 'oauth-token-id': tokenId, branch: 'main' }
    await change(id, { 'queue-all-runs': true, 'vcs-repo': repository, ...attributes })
    return id
  }
  const change = async (id: string, attributes: object) =>
    send('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes })
  const workspaceId = await addWorkspace()
  const repository = await app.db
    .selectFrom('repositories')
    .selectAll()
    .where('oauth_token_id', '=', tokenId)
    .executeTakeFirstOrThrow()
  const setting = { user, organization, workspaceId }
  return { ...setting, setting, repository, addWorkspace, change }
}
type Setting = Awaited<ReturnType<typeof connect>>

const shaOf = (letter: string) => letter.repeat(40)

let deliveries = 0

async function deliver({ repository }: Setting, action: string, changes: { head?: string; base?: string } = {}) {
  const { head = 'a', base = 'main', ...more } = changes
  const { head: known, base: knownBase } = pullRequest()
  const merged = action === 'merged'
  const request = pullRequest({
    head: { ...known, sha: shaOf(head) },
    base: { ...knownBase, ref: base },
    ...(merged && { state: 'closed', merged_at: '2026-11-20T10:00:00Z' }),
    ...more,
  })
  const body = Buffer.from(JSON.stringify(pullRequestEvent(merged ? 'closed' : action, request)))
  const key = app.secrets.openText(repository.webhook_secret, webhookContext(repository.id))
  deliveries += 1
  const headers = {
    'content-type': 'application/json',
    'x-github-event': 'pull_request',
    'x-github-delivery': `delivery-${deliveries}`,
    'x-hub-signature-256': `sha256=${createHmac('sha256', key).update(body).digest('hex')}`,
  }
  const response = await app.request({ method: 'POST', url: `/webhooks/vcs/${repository.webhook_path}`, headers, body })
  expect(response.status).toBe(202)
  app.clock.advance(1000)
}

/** Runs of a workspace by the start of their commit, with the reason of a cancellation. */
async function runsOf(workspaceId: string) {
  const { data } = (await send('GET', `workspaces/${workspaceId}/runs`)).json()
  const runs: Record<string, string> = {}
  for (const { id, attributes, relationships } of data) {
    const version = relationships['configuration-version'].data.id
    const commit = (await send('GET', `configuration-versions/${version}/ingress-attributes`)).json().data.attributes
    const events = (await send('GET', `runs/${id}/run-events`)).json().data
    const canceled = events.find((event: { attributes: { action: string } }) => event.attributes.action === 'canceled')
    const reason = canceled ? `: ${canceled.attributes.description.replace(/run-\w+/, 'run')}` : ''
    runs[commit['commit-sha'][0]] = `${attributes.status}${reason}`
  }
  return runs
}

test('a newer commit of a pull request cancels the unfinished plan of the older one', async () => {
  const setting = await connect()

  await deliver(setting, 'opened', { head: 'a' })
  await app.runJobs()
  await deliver(setting, 'synchronize', { head: 'b' })
  await app.runJobs()

  expect(await runsOf(setting.workspaceId)).toEqual({
    a: 'canceled: superseded by run: commit bbbbbbb of the pull request #7',
    b: 'fetching',
  })
})

test('deliveries that are decided out of order leave the plan of the newest commit', async () => {
  const setting = await connect()
  await deliver(setting, 'opened', { head: 'a' })
  // Its host does not respond for a while.
  await setStatus('pending', 'failed')
  await deliver(setting, 'synchronize', { head: 'b' })
  await app.runJobs()
  const [older] = await setStatus('failed', 'pending')

  await transact(app.as(), async (ctx) => decideLater(ctx, older?.id ?? ''))
  await app.runJobs()

  expect(await runsOf(setting.workspaceId)).toEqual({
    a: 'canceled: superseded by run: commit bbbbbbb of the pull request #7',
    b: 'fetching',
  })

  async function setStatus(from: 'pending' | 'failed', status: 'pending' | 'failed') {
    const update = app.db.updateTable('vcs_deliveries').set({ status }).where('status', '=', from)
    return update.where('repository_id', '=', setting.repository.id).returning('id').execute()
  }
})

test('a running plan is interrupted, and what it reports later decides', async () => {
  const setting = await connect()
  const { run, job } = await startPlan(setting, 'a')

  await deliver(setting, 'synchronize', { head: 'b' })
  await app.runJobs()
  const { command } = (await job.heartbeat()).json()
  await job.finish({ status: 'canceled' })

  expect(command).toBe('cancel')
  expect((await runsOf(setting.workspaceId))['a']).toMatch(/^canceled: superseded by run/)
  expect((await send('GET', `runs/${run}`)).json().data.relationships['canceled-by'].data).toBeNull()
})

/** The plan of an earlier commit of the pull request, started by the server or by `createdBy`, which an agent executes. */
async function startPlan({ workspaceId, repository, setting }: Setting, head: string, { byPerson = false } = {}) {
  const commit = {
    repository_id: repository.id,
    pull_request_number: 7,
    commit_sha: shaOf(head),
    created_at: new Date(app.now().getTime() - 1000),
  }
  const configurationVersionId = await uploadCommit(app, setting, { commit, speculative: true })
  const workspace = await requireWorkspace(app.as(), workspaceId, 'runs:plan')
  const origin = { source: 'tfe-configuration-version', configurationVersionId, createdByUserId: null } as const
  const run = byPerson
    ? await createRun(app, setting, { configurationVersionId })
    : await insertRun(app.as(), workspace, { input: {}, origin })
  return { run, job: await agent.take() }
}

test('the plan that a person started is not canceled', async () => {
  const setting = await connect()
  const { job } = await startPlan(setting, 'a', { byPerson: true })

  await deliver(setting, 'synchronize', { head: 'b' })
  await app.runJobs()
  await job.finish({ hasChanges: false })

  expect(await runsOf(setting.workspaceId)).toEqual({ a: 'planned_and_finished', b: 'fetching' })
})

test.each([
  ['closed', 'canceled: the pull request #7 was closed'],
  ['merged', 'canceled: the pull request #7 was merged'],
])('a pull request that is %s cancels its plan', async (action, expected) => {
  const setting = await connect()
  await deliver(setting, 'opened')
  await app.runJobs()

  await deliver(setting, action)
  await app.runJobs()

  expect(await runsOf(setting.workspaceId)).toEqual({ a: expected })
})

test('a commit that is not planned in a workspace makes the older plan there stale', async () => {
  const setting = await connect()
  await deliver(setting, 'opened', { head: 'a' })
  await app.runJobs()
  await setting.change(setting.workspaceId, { 'speculative-enabled': false })

  await deliver(setting, 'synchronize', { head: 'b' })
  await app.runJobs()

  expect(await runsOf(setting.workspaceId)).toEqual({
    a: 'canceled: superseded by commit bbbbbbb of the pull request #7, which is not planned here',
  })
})

test('the organization can keep outdated plans, and other pull requests and runs are left alone', async () => {
  const [keeping, other] = [await connect(), await connect()]
  const attributes = { 'speculative-plan-management-enabled': false }
  await send('PATCH', `organizations/${keeping.organization}`, { type: 'organizations', attributes })
  for (const setting of [keeping, other]) await deliver(setting, 'opened', { head: 'a' })
  await app.runJobs()

  await deliver(keeping, 'synchronize', { head: 'b' })
  await deliver(keeping, 'closed', { head: 'b' })
  await app.runJobs()

  expect(await runsOf(keeping.workspaceId)).toEqual({ a: 'fetching', b: 'fetching' })
  expect(await runsOf(other.workspaceId)).toEqual({ a: 'fetching' })
})
