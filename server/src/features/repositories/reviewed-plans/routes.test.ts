import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { actOnRun, createRun, createRunSetting } from '../../../testing/runs.ts'
import { pullRequest } from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { SHA, TREE, connectHost, pullRequestOf, pushOf } from '../commit-statuses/testing/commits.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const agent = await createFakeAgent(app)
const planJson = (name: string) =>
  readFileSync(new URL(`../../../../../contract/src/testdata/${name}.json`, import.meta.url), 'utf8')

/** Finishes the next plan with a recorded document, or with none. */
async function plan(name: string | null = 'update') {
  const job = await agent.take()
  if (name !== null) await job.put('plan-json', planJson(name))
  await job.finish()
}

/** A workspace, and the plan of a pull request in it. */
async function review(settings: object, { treeSha = TREE.merged, ...options } = {}) {
  const connected = await connectHost(app)
  const { id } = await connected.addWorkspace({ ...settings })
  const reviewedId = await connected.startRun(id, pullRequestOf('opened'), { treeSha })
  await plan('update')
  await app.runJobs()
  const read = async (path: string) => app.request({ url: `/api/v2/${path}`, token: connected.owner.token })
  const runOf = async (runId: string) => (await read(`runs/${runId}`)).json().data.attributes
  const reviewOf = async (runId: string) => (await read(`runs/${runId}/reviewed-plan`)).json().data
  const eventsOf = async (runId: string) =>
    (await read(`runs/${runId}/run-events`))
      .json()
      .data.map(({ attributes }: { attributes: Record<string, string> }) => attributes)
  return { ...connected, ...options, workspaceId: id, reviewedId, read, runOf, reviewOf, eventsOf }
}

const AUTO = { 'auto-apply-reviewed': true }

test('identical changes are applied without a confirmation', async () => {
  const { workspaceId, reviewedId, startRun, report, runOf, reviewOf, eventsOf } = await review(AUTO)
  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  const runId = await startRun(workspaceId, pushOf(SHA.merge))

  await plan('update')
  const before = await runOf(runId)
  const pending = await reviewOf(runId)
  await app.runJobs()

  expect(before.status).toBe('planned')
  expect(pending.attributes.result).toBe('pending')
  expect((await runOf(runId)).status).toBe('apply_queued')
  expect(await reviewOf(runId)).toMatchObject({
    attributes: {
      result: 'identical',
      'pull-request-number': 12,
      'pull-request-url': 'https://git.example/acme/network/pulls/12',
      differences: [],
      'difference-count': 0,
    },
    relationships: { 'reviewed-run': { data: { id: reviewedId, type: 'runs' } } },
  })
  expect(await eventsOf(runId)).toContainEqual(
    expect.objectContaining({ action: 'confirmed', description: 'identical to the plan reviewed in #12' }),
  )
  await (await agent.take()).finish()
})

test('different changes wait for a confirmation, even with auto-apply', async () => {
  const { owner, workspaceId, startRun, report, runOf, reviewOf } = await review({ ...AUTO, 'auto-apply': true })
  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  const runId = await startRun(workspaceId, pushOf(SHA.merge))

  await plan('create')
  await app.runJobs()
  const { attributes } = await reviewOf(runId)

  expect(await runOf(runId)).toMatchObject({ status: 'planned', 'auto-apply': false })
  expect(attributes.result).toBe('different')
  expect(attributes['difference-count']).toBe(attributes.differences.length)
  expect(attributes.differences).toContainEqual({
    address: 'terraform_data.counted[0]',
    kind: 'changed',
    'reviewed-actions': ['update'],
    'planned-actions': ['create'],
  })
  expect(JSON.stringify(attributes)).not.toContain('secret-value')
  await actOnRun(app, { user: owner }, { run: runId, action: 'discard' })
})

test.each([
  [{ 'auto-apply': true }, 'apply_queued'],
  [{ 'auto-apply': false }, 'planned'],
])('without a reviewed plan, %o decides', async (settings, status) => {
  const { owner, addWorkspace, startRun, report, runOf, reviewOf } = await review(AUTO)
  const { id } = await addWorkspace({ ...AUTO, ...settings })
  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  const runId = await startRun(id, pushOf(SHA.merge))

  await plan('update')
  await app.runJobs()

  expect((await runOf(runId)).status).toBe(status)
  expect((await reviewOf(runId)).attributes).toMatchObject({ result: 'unreviewed', 'pull-request-number': 12 })
  if (status === 'apply_queued') await (await agent.take()).finish()
  else await actOnRun(app, { user: owner }, { run: runId, action: 'discard' })
})

test('without the setting, the comparison is shown and decides nothing', async () => {
  const { owner, workspaceId, startRun, report, runOf, reviewOf } = await review({})
  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  const runId = await startRun(workspaceId, pushOf(SHA.merge))

  await plan('update')
  await app.runJobs()

  expect((await runOf(runId)).status).toBe('planned')
  expect((await reviewOf(runId)).attributes.result).toBe('identical')
  await actOnRun(app, { user: owner }, { run: runId, action: 'discard' })
})

test('a commit with the tree that was planned counts as reviewed, once its merge would have been reported', async () => {
  const { workspaceId, startRun, runOf, reviewOf } = await review(AUTO)
  const runId = await startRun(workspaceId, pushOf(SHA.merge), { treeSha: TREE.merged })

  await plan('update')
  await app.runJobs()

  expect((await reviewOf(runId)).attributes).toMatchObject({ result: 'identical', 'pull-request-number': 12 })
  expect((await runOf(runId)).status).toBe('apply_queued')
  await (await agent.take()).finish()
})

test('a run waits for the report of its merge, which may come after that of its commit', async () => {
  const { workspaceId, startRun, report, runOf, reviewOf } = await review({ ...AUTO, 'auto-apply': true })
  const runId = await startRun(workspaceId, pushOf(SHA.merge), { treeSha: TREE.other })
  await plan('update')
  await app.runJobs()
  const early = await runOf(runId)

  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  await app.runJobs()

  expect(early.status).toBe('planned')
  expect((await reviewOf(runId)).attributes.result).toBe('identical')
  expect((await runOf(runId)).status).toBe('apply_queued')
  await (await agent.take()).finish()
})

test('a host that does not name the commit of a merge is asked', async () => {
  const { host, workspaceId, startRun, report, reviewOf, owner } = await review({})
  const merged = pullRequest({ number: 12, merged: true, state: 'closed', merge_commit_sha: SHA.merge })
  host.reply('GET /api/v1/repos/acme/network/pulls/12', { body: merged })
  await report(pullRequestOf('merged'))
  const runId = await startRun(workspaceId, pushOf(SHA.merge), { treeSha: TREE.other })

  await plan('update')
  await app.runJobs()

  expect((await reviewOf(runId)).attributes).toMatchObject({ result: 'identical', 'pull-request-number': 12 })
  await actOnRun(app, { user: owner }, { run: runId, action: 'discard' })
})

test('a run waits for a confirmation if the host refuses to name the commit of a merge', async () => {
  const settings = { ...AUTO, 'auto-apply': true }
  const { host, workspaceId, startRun, report, runOf, reviewOf, owner } = await review(settings)
  host.reply('GET /api/v1/repos/acme/network/pulls/12', { status: 403, body: { message: 'no' } })
  await report(pullRequestOf('merged'))
  const runId = await startRun(workspaceId, pushOf(SHA.merge), { treeSha: TREE.other })

  await plan('update')
  app.clock.advance(30_000)
  await app.runJobs()
  await app.runJobs()

  expect((await reviewOf(runId)).attributes.result).toBe('unknown')
  expect(await runOf(runId)).toMatchObject({ status: 'planned', 'auto-apply': false })
  await actOnRun(app, { user: owner }, { run: runId, action: 'discard' })
})

test('a plan without its JSON cannot be compared, and waits for a confirmation', async () => {
  const { owner, workspaceId, startRun, report, runOf, reviewOf } = await review({ ...AUTO, 'auto-apply': true })
  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  const runId = await startRun(workspaceId, pushOf(SHA.merge))

  await plan(null)
  await app.runJobs()

  expect((await reviewOf(runId)).attributes.result).toBe('unknown')
  expect(await runOf(runId)).toMatchObject({ status: 'planned', 'auto-apply': false })
  await actOnRun(app, { user: owner }, { run: runId, action: 'discard' })
})

test('the JSON of an applied plan may follow its result', async () => {
  const { workspaceId, startRun, report, reviewOf } = await review({ 'auto-apply': true })
  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  const runId = await startRun(workspaceId, pushOf(SHA.merge))
  const job = await agent.take()
  await job.finish({ owesDocuments: true })
  await app.runJobs()
  const early = await reviewOf(runId)

  await job.documents({ 'plan-json': planJson('update') })
  app.clock.advance(300_000)
  await app.runJobs()

  expect(early.attributes.result).toBe('pending')
  expect((await reviewOf(runId)).attributes.result).toBe('identical')
  await (await agent.take()).finish()
})

test('a user who confirms first is not overruled', async () => {
  const { owner, workspaceId, startRun, report, runOf, eventsOf } = await review(AUTO)
  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  const runId = await startRun(workspaceId, pushOf(SHA.merge))
  await plan('create')
  await actOnRun(app, { user: owner }, { run: runId, action: 'apply' })

  await app.runJobs()

  expect((await runOf(runId)).status).toBe('apply_queued')
  const actions = (await eventsOf(runId)).map(({ action }: { action: string }) => action)
  expect(actions).not.toContain('review_failed')
  await (await agent.take()).finish()
})

test('a plan that failed was not reviewed', async () => {
  const { workspaceId, startRun, reviewOf } = await review(AUTO)
  const runId = await startRun(workspaceId, pushOf(SHA.merge))

  await (await agent.take()).finish({ status: 'errored' })

  expect((await reviewOf(runId)).attributes.result).toBe('unreviewed')
})

test('only those who may read the run may read the comparison, and other runs have none', async () => {
  const { reviewedId, read } = await review({})
  const stranger = await createUser(app)
  const setting = await createRunSetting(app)
  const manual = await createRun(app, setting)
  const path = `/api/v2/runs/${manual}/reviewed-plan`

  const statuses = [
    (await app.request({ url: path, token: setting.user.token })).status,
    (await app.request({ url: path, token: stranger.token })).status,
    (await read(`runs/${reviewedId}/reviewed-plan`)).status,
  ]

  expect(statuses).toEqual([404, 404, 404])
  await actOnRun(app, setting, { run: manual, action: 'cancel' })
})

// Last: retries of jobs are due at once when the clock of the test is far ahead.
test('a host that is down for long does not keep a run undecided', async () => {
  const settings = { ...AUTO, 'auto-apply': true }
  const { host, workspaceId, startRun, report, runOf, reviewOf, owner } = await review(settings)
  host.reply('GET /api/v1/repos/acme/network/pulls/12', { status: 502, body: 'down' })
  await report(pullRequestOf('merged'))
  const runId = await startRun(workspaceId, pushOf(SHA.merge), { treeSha: TREE.other })
  await plan('update')
  await app.runJobs()
  const early = await reviewOf(runId)

  for (let attempt = 0; attempt < 12; attempt++) {
    app.clock.advance(300_000)
    await app.runJobs()
  }

  expect(early.attributes.result).toBe('pending')
  expect((await reviewOf(runId)).attributes.result).toBe('unknown')
  expect(await runOf(runId)).toMatchObject({ status: 'planned', 'auto-apply': false })
  await actOnRun(app, { user: owner }, { run: runId, action: 'discard' })
})
