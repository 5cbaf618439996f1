import { expect, test } from 'vitest'
import { transact } from '../../../db/db.ts'
import { createTestApp } from '../../../testing/app.ts'
import { uploadCommit } from '../../../testing/commits.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun } from '../../../testing/runs.ts'
import { pullRequestEvent } from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { insertRun } from '../../runs/runs/service.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { connectRepository } from '../testing/connected-repository.ts'
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

/** A workspace that plans the pull requests of acme/network for `main`, without a first run. */
async function connect() {
  const connected = await connectRepository(app, user)
  const { organization, tokenId } = connected
  connected.repository.commit({ 'main.tf': '' })
  const { id: workspaceId } = await connected.addWorkspace()
  await app.runJobs()
  const change = async (id: string, attributes: object) =>
    send('PATCH', `workspaces/${id}`, { type: 'workspaces', attributes })
  await change(workspaceId, { 'queue-all-runs': true })
  const repository = await app.db
    .selectFrom('repositories')
    .selectAll()
    .where('oauth_token_id', '=', tokenId)
    .executeTakeFirstOrThrow()
  const setting = { user, organization, workspaceId }
  return { ...setting, setting, repository, connected, change }
}
type Setting = Awaited<ReturnType<typeof connect>>

/** Commits of the tests by letter. */
const commits = new Map<string, string>()
const shaOf = (letter: string) => commits.get(letter) ?? letter.repeat(40)

async function deliver({ connected }: Setting, action: string, { head = 'a' } = {}) {
  const { pull_request: opened } = connected.openPullRequest({ 'main.tf': head })
  commits.set(head, opened.head.sha)
  const merged = { merged: true, state: 'closed', merge_commit_sha: 'e'.repeat(40) }
  const pull = action === 'merged' ? { ...opened, ...merged } : opened
  const event = pullRequestEvent(action === 'merged' ? 'closed' : action, pull)
  expect((await connected.deliver('pull_request', event)).status).toBe(202)
  app.clock.advance(1000)
}

/** Plans of a workspace by the letter of their commit, with the reason of a cancellation. */
async function runsOf(workspaceId: string) {
  const { data } = (await send('GET', `workspaces/${workspaceId}/runs`)).json()
  const runs: Record<string, string> = {}
  for (const { id, attributes, relationships } of data) {
    const version = relationships['configuration-version'].data.id
    const commit = (await send('GET', `configuration-versions/${version}/ingress-attributes`)).json().data.attributes
    const events = (await send('GET', `runs/${id}/run-events`)).json().data
    const canceled = events.find((event: { attributes: { action: string } }) => event.attributes.action === 'canceled')
    const reason = canceled ? `: ${lettered(canceled.attributes.description.replace(/run-\w+/, 'run'))}` : ''
    runs[lettered(commit['commit-sha'].slice(0, 7))[0] ?? ''] = `${attributes.status}${reason}`
  }
  return runs
}

/** Replaces abbreviated commits by their letter. */
function lettered(text: string) {
  return [...commits].reduce((left, [letter, sha]) => left.replace(sha.slice(0, 7), letter.repeat(7)), text)
}

test('a newer commit of a pull request cancels the unfinished plan of the older one', async () => {
  const setting = await connect()

  await deliver(setting, 'opened', { head: 'a' })
  await app.runJobs()
  await deliver(setting, 'synchronized', { head: 'b' })
  await app.runJobs()

  expect(await runsOf(setting.workspaceId)).toEqual({
    a: 'canceled: superseded by run: commit bbbbbbb of the pull request #7',
    b: 'plan_queued',
  })
})

test('deliveries that are decided out of order leave the plan of the newest commit', async () => {
  const setting = await connect()
  await deliver(setting, 'opened', { head: 'a' })
  // Its host does not respond for a while.
  await setStatus('pending', 'failed')
  await deliver(setting, 'synchronized', { head: 'b' })
  await app.runJobs()
  const [older] = await setStatus('failed', 'pending')

  await transact(app.as(), async (ctx) => decideLater(ctx, older?.id ?? ''))
  await app.runJobs()

  expect(await runsOf(setting.workspaceId)).toEqual({
    a: 'canceled: superseded by run: commit bbbbbbb of the pull request #7',
    b: 'plan_queued',
  })

  async function setStatus(from: 'pending' | 'failed', status: 'pending' | 'failed') {
    const update = app.db.updateTable('vcs_deliveries').set({ status }).where('status', '=', from)
    return update.where('repository_id', '=', setting.repository.id).returning('id').execute()
  }
})

test('a running plan is interrupted, and what it reports later decides', async () => {
  const setting = await connect()
  const { run, job } = await startPlan(setting, 'a')

  await deliver(setting, 'synchronized', { head: 'b' })
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
  for (;;) {
    const job = await agent.take()
    // Plans of earlier tests are queued, too.
    if (job.runId === run) return { run, job }
  }
}

test('the plan that a person started is not canceled', async () => {
  const setting = await connect()
  const { job } = await startPlan(setting, 'a', { byPerson: true })

  await deliver(setting, 'synchronized', { head: 'b' })
  await app.runJobs()
  await job.finish({ hasChanges: false })

  expect(await runsOf(setting.workspaceId)).toEqual({ a: 'planned_and_finished', b: 'plan_queued' })
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

  await deliver(setting, 'synchronized', { head: 'b' })
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

  await deliver(keeping, 'synchronized', { head: 'b' })
  await deliver(keeping, 'closed', { head: 'b' })
  await app.runJobs()

  expect(await runsOf(keeping.workspaceId)).toEqual({ a: 'plan_queued', b: 'plan_queued' })
  expect(await runsOf(other.workspaceId)).toEqual({ a: 'plan_queued' })
})
