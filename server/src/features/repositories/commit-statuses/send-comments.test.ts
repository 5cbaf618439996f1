import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { actOnRun } from '../../../testing/runs.ts'
import { COMMENT_ROUTES, SHA, TREE, connectHost, pullRequestOf, pushOf } from './testing/commits.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const agent = await createFakeAgent(app)
const planJson = (name: string) =>
  readFileSync(new URL(`../../../../../contract/src/testdata/${name}.json`, import.meta.url), 'utf8')
const COUNTS = { additions: 2, changes: 1, destructions: 0, imports: 0 }

/** Finishes the next plan with a recorded document. */
async function plan(name = 'update') {
  const job = await agent.take()
  await job.put('plan-json', planJson(name))
  await job.finish({ counts: COUNTS })
}

const textsOf = (bodies: unknown[]) => bodies.map((body) => (body as { body: string }).body)

test('one comment is updated as plans finish, with addresses and without values', async () => {
  const { host, addWorkspace, startRun, report, runJobs } = await connectHost(app)
  const [first, second, third] = [await addWorkspace(), await addWorkspace(), await addWorkspace()]
  const event = pullRequestOf('opened')
  await startRun(first.id, event)
  await runJobs()
  const early = host.bodies(COMMENT_ROUTES.create)

  await plan()
  await runJobs()
  await startRun(second.id, event)
  const detail = 'dns/'
  await report(event, [{ workspace_id: third.id, decision: 'skip', reason: 'no-matching-files', detail }])
  await plan('create')
  await runJobs()
  await runJobs()

  const [created, ...others] = textsOf(host.bodies(COMMENT_ROUTES.create))
  const updated = textsOf(host.bodies(COMMENT_ROUTES.update)).at(-1)
  expect(early).toEqual([])
  expect(others).toEqual([])
  expect(created).toContain(`[\`${first.name}\`]`)
  expect(created).toContain('update\n  terraform_data.counted[0]')
  expect(updated).toContain(`[\`${second.name}\`]`)
  expect(updated).toContain(`Skipped, since no changed file concerns them: \`${third.name}\``)
  expect(`${created}${updated}`).not.toMatch(/secret-value|7f015aa3/)
})

test('an unchanged comment is not sent again, and a deleted one is created again', async () => {
  const { host, addWorkspace, startRun, runJobs } = await connectHost(app)
  const workspace = await addWorkspace()
  await startRun(workspace.id, pullRequestOf('opened'))
  await plan()
  await runJobs()
  const count = host.asked().length
  await runJobs()
  const repeated = host.asked().length - count
  host.reply(COMMENT_ROUTES.update, { status: 404, body: { message: 'Not Found' } })

  await startRun(workspace.id, pullRequestOf('updated', { head: SHA.other }))
  await plan('create')
  await runJobs()

  expect(repeated).toBe(0)
  expect(host.bodies(COMMENT_ROUTES.update)).toHaveLength(1)
  expect(host.bodies(COMMENT_ROUTES.create)).toHaveLength(2)
})

test.each(['the first one', 'one after a deletion'])(
  'a comment whose creation had no response is edited by the next attempt: %s',
  async (which) => {
    const { host, addWorkspace, startRun, runJobs } = await connectHost(app)
    const comments: { id: number; body: string }[] = []
    const bodyOf = (body: unknown) => (body as { body: string }).body
    if (which !== 'the first one') {
      await startRun((await addWorkspace()).id, pullRequestOf('opened'))
      await plan()
      await runJobs()
    }
    const before = host.bodies(COMMENT_ROUTES.create).length
    host.reply(COMMENT_ROUTES.list, () => ({ body: [{ id: 1, body: 'Looks good' }, ...comments] }))
    host.reply(COMMENT_ROUTES.update, { status: 404, body: { message: 'Not Found' } })
    host.reply(COMMENT_ROUTES.updateOther, ({ body }) => ({ body: { id: 100, body: bodyOf(body) } }))
    host.reply(COMMENT_ROUTES.create, ({ body }) => {
      comments.push({ id: 100, body: bodyOf(body) })
      return (response) => response.destroy()
    })

    const second = await addWorkspace()
    await startRun(second.id, pullRequestOf('updated', { head: SHA.other }))
    await plan()
    await runJobs()
    app.clock.advance(3_600_000)
    await runJobs()
    await startRun(second.id, pullRequestOf('updated', { head: SHA.merge }))
    await plan('create')
    await runJobs()

    expect(host.bodies(COMMENT_ROUTES.create).length - before).toBe(1)
    const edits = textsOf(host.bodies(COMMENT_ROUTES.updateOther))
    expect(edits.at(-1)).toContain('create\n  module.net')
    expect(edits.at(-1)?.split('\n')[0]).toBe(comments[0]?.body.split('\n')[0])
  },
)

test('after the merge, the comment says what the apply did and whether it was reviewed', async () => {
  const { host, owner, addWorkspace, startRun, report, runJobs } = await connectHost(app)
  const { id } = await addWorkspace()
  await startRun(id, pullRequestOf('opened'), { treeSha: TREE.other })
  await plan('update')
  await runJobs()
  await report(pullRequestOf('merged', { mergeSha: SHA.merge }))
  const runId = await startRun(id, pushOf(SHA.merge), { treeSha: TREE.merged })
  await plan('create')
  await runJobs()
  await runJobs()
  const different = textsOf(host.bodies(COMMENT_ROUTES.update)).at(-1)

  await actOnRun(app, { user: owner }, { run: runId, action: 'apply' })
  await (await agent.take()).finish({ counts: COUNTS })
  await runJobs()
  await runJobs()
  const applied = textsOf(host.bodies(COMMENT_ROUTES.update)).at(-1)

  expect(different).toMatch(/\*\*After the merge\*\*.*waiting for confirmation \| \*\*different\*\* \|/s)
  expect(different).toContain('<summary>Differences from the reviewed plan in')
  expect(applied).toContain('✅ 2 added, 1 changed, 0 destroyed | **different** |')
})

test('a host without permission to comment is asked once for each text', async () => {
  const { host, organization, addWorkspace, startRun, runJobs } = await connectHost(app)
  host.reply(COMMENT_ROUTES.create, { status: 403, body: { message: 'comments are for members' } })
  await startRun((await addWorkspace()).id, pullRequestOf('opened'))
  await plan()

  await runJobs()
  app.clock.advance(3_600_000)
  await runJobs()
  const stored = await app.db.selectFrom('pull_request_comments').select('error').execute()
  const events = await app.db
    .selectFrom('vcs_events as e')
    .innerJoin('organizations as o', 'o.id', 'e.organization_id')
    .select(['e.level', 'e.suggested_action'])
    .where('o.name', '=', organization.name)
    .where('e.message', 'like', '%comments are for members%')
    .execute()

  expect(host.bodies(COMMENT_ROUTES.create)).toHaveLength(1)
  expect(stored.some(({ error }) => error?.includes('comments are for members'))).toBe(true)
  expect(events).toEqual([
    { level: 'error', suggested_action: 'Let the connection comment on pull requests of acme/network' },
  ])
})
