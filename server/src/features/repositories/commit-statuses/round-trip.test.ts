import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { pullRequest, pullRequestEvent, push } from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { connectRepository } from '../testing/connected-repository.ts'
import { runJobsAndReports } from './testing/commits.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const owner = await createUser(app)
const agent = await createFakeAgent(app)
const recorded = readFileSync(new URL('../../../../../contract/src/testdata/update.json', import.meta.url), 'utf8')

const REPOSITORY = '/repos/acme/network'
const COMMENT = { create: `POST ${REPOSITORY}/issues/7/comments`, update: `PATCH ${REPOSITORY}/issues/comments/99` }
const statusRoute = (sha: string) => `POST ${REPOSITORY}/statuses/${sha}`

async function plan() {
  const job = await agent.take()
  await job.put('plan-json', recorded)
  await job.finish({ counts: { additions: 1, changes: 2, destructions: 0, imports: 0 } })
  return job.runId
}

const runJobs = async () => runJobsAndReports(app)

/** A workspace whose first run has ended. */
async function start(settings: object) {
  const connected = await connectRepository(app, owner)
  connected.reply(COMMENT.create, { status: 201, body: { id: 99 } })
  connected.reply(COMMENT.update, { body: { id: 99 } })
  connected.repository.commit({ 'main.tf': '# first' })
  const { id } = await connected.addWorkspace({ 'queue-all-runs': true, ...settings })
  await app.runJobs()
  await (await agent.take()).finish({ hasChanges: false })
  const { data } = (await connected.request('GET', `workspaces/${id}`)).json()
  return { ...connected, workspaceId: id, workspaceName: data.attributes.name as string }
}

type Connected = Awaited<ReturnType<typeof start>>

/** A pull request that was planned. */
async function planPullRequest({ openPullRequest, deliver, reply }: Connected) {
  const opened = openPullRequest({ 'network.tf': '# a subnet' })
  const head = opened.pull_request.head.sha
  reply(statusRoute(head), { status: 201 })
  await deliver('pull_request', opened)
  await app.runJobs()
  await plan()
  await runJobs()
  return head
}

/** Merges the pull request; its webhook comes after that of the push, as is usual. */
async function merge({ repository, deliver, reply }: Connected, head: string) {
  repository.git('merge', '--quiet', '--no-ff', '-m', 'Merge', head)
  const mergeSha = repository.git('rev-parse', 'HEAD')
  reply(statusRoute(mergeSha), { status: 201 })
  const commit = { id: mergeSha, message: 'Merge', url: '' }
  const before = repository.git('rev-parse', 'HEAD^1')
  await deliver('push', push({ before, after: mergeSha, head_commit: commit, commits: [commit] }))
  const state = { number: 7, state: 'closed', merged: true, merge_commit_sha: mergeSha }
  await deliver('pull_request', pullRequestEvent('closed', pullRequest({ ...state })))
  await app.runJobs()
  return mergeSha
}

test('what was reviewed in a pull request is applied after its merge, and the host follows', async () => {
  const connected = await start({ 'auto-apply-reviewed': true })
  const { workspaceName, bodiesOf, request } = connected

  const head = await planPullRequest(connected)
  const created = bodiesOf(COMMENT.create)
  const mergeSha = await merge(connected, head)
  const runId = await plan()
  await app.runJobs()
  const apply = await agent.take()
  await apply.finish({ counts: { additions: 1, changes: 2, destructions: 0, imports: 0 } })
  await runJobs()
  const review = (await request('GET', `runs/${runId}/reviewed-plan`)).json().data.attributes

  expect(bodiesOf(statusRoute(head)).at(-1)).toMatchObject({
    state: 'success',
    description: '1 to add, 2 to change, 0 to destroy',
  })
  expect(created).toMatchObject([{ body: expect.stringContaining(`Changes in ${workspaceName}`) }])
  expect(apply).toMatchObject({ kind: 'apply', runId })
  expect(review).toMatchObject({ result: 'identical', 'pull-request-number': 7 })
  expect(bodiesOf(statusRoute(mergeSha)).at(-1)).toMatchObject({
    state: 'success',
    description: '1 added, 2 changed, 0 destroyed',
  })
  expect(bodiesOf(COMMENT.update).at(-1)).toMatchObject({
    body: expect.stringContaining('✅ 1 added, 2 changed, 0 destroyed | identical |'),
  })
})

test('the tree of a merge names the reviewed plan if the host never reports the merge', async () => {
  const connected = await start({})
  const { repository, deliver, request } = connected
  const head = await planPullRequest(connected)
  const before = repository.git('rev-parse', 'HEAD')
  repository.git('merge', '--quiet', '--squash', head)
  const squashed = repository.commit({}, 'Squash')
  const commit = { id: squashed, message: 'Squash', url: '' }

  await deliver('push', push({ before, after: squashed, head_commit: commit, commits: [commit] }))
  await app.runJobs()
  const runId = await plan()
  await app.runJobs()
  const review = (await request('GET', `runs/${runId}/reviewed-plan`)).json().data.attributes

  expect(review).toMatchObject({ result: 'identical', 'pull-request-number': 7 })
})

test('a conflict with the base fails the status and is named in the comment', async () => {
  const connected = await start({})
  const { repository, openPullRequest, deliver, reply, bodiesOf } = connected
  const opened = openPullRequest({ 'main.tf': '# theirs' })
  repository.commit({ 'main.tf': '# ours' })
  const head = opened.pull_request.head.sha
  reply(statusRoute(head), { status: 201 })

  await deliver('pull_request', opened)
  await app.runJobs()
  await runJobs()

  expect(bodiesOf(statusRoute(head))).toMatchObject([
    { state: 'failure', description: expect.stringContaining('conflicts with its base in main.tf') },
  ])
  expect(bodiesOf(COMMENT.create)).toMatchObject([{ body: expect.stringContaining('- `main.tf`') }])
})
