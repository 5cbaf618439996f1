import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import { ZEROS } from '../../../vcs-hosts/gitea/testing/bodies.ts'
import { archiveOf, connectRepository } from '../testing/connected-repository.ts'
import { resumeDeliveries } from './decide-delivery.ts'

const app = await createTestApp()
const owner = await createUser(app)
const MINUTE_MS = 60_000

/** A repository with two directories, and workspaces that follow them. */
async function followed() {
  const connected = await connectRepository(app, owner)
  connected.repository.commit({ 'a/main.tf': '1', 'b/main.tf': '1' })
  const settings = { 'queue-all-runs': true, 'file-triggers-enabled': true }
  const [a, b] = [
    await connected.addWorkspace({ ...settings, 'working-directory': 'a' }),
    await connected.addWorkspace({ ...settings, 'working-directory': 'b' }),
  ]
  await app.runJobs()
  const reasons = async () =>
    Promise.all([a, b].map(async ({ id }) => (await connected.decisionsOf(id)).map(([reason]) => reason).join()))
  return { ...connected, a, b, reasons }
}

test('a push without a list of files is compared with the commit before', async () => {
  const { deliver, push, reasons } = await followed()

  await deliver('push', push({ 'a/main.tf': '2' }))
  await app.runJobs()

  expect(await reasons()).toEqual(['pushed', 'no-matching-files'])
})

test('a push with 300 changed files starts runs in every workspace', async () => {
  const { deliver, push, reasons } = await followed()

  await deliver('push', push(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`a/${n}.tf`, '']))))
  await app.runJobs()

  expect(await reasons()).toEqual(['pushed', 'pushed'])
})

test('a branch that was rewritten starts runs in every workspace', async () => {
  const { deliver, push, reasons } = await followed()

  await deliver('push', { ...push({ 'a/main.tf': '2' }), before: 'd'.repeat(40) })
  await app.runJobs()

  expect(await reasons()).toEqual(['pushed', 'pushed'])
})

test('a pull request is planned as merged into its base, where the merge changes files', async () => {
  const { a, deliver, push, openPullRequest, reasons, runsOf, request } = await followed()
  const pull = openPullRequest({ 'a/main.tf': '2' })
  push({ 'b/main.tf': 'newer' })

  await deliver('pull_request', pull)
  await app.runJobs()
  const [run] = await runsOf(a.id)
  const versionId = run.relationships['configuration-version'].data.id
  const version = (await request('GET', `configuration-versions/${versionId}?include=ingress_attributes`)).json()

  expect(await reasons()).toEqual(['pull-request', 'no-matching-files'])
  expect(run.attributes).toMatchObject({ 'plan-only': true, status: 'plan_queued' })
  expect(version.included[0].attributes).toMatchObject({ 'is-pull-request': true, 'pull-request-number': 7 })
  expect(await archiveOf(request, versionId)).toEqual({ 'a/main.tf': '2', 'b/main.tf': 'newer' })
})

test('a pull request that conflicts with its base is not planned', async () => {
  const { a, deliver, push, openPullRequest, decisionsOf, runsOf } = await followed()
  const pull = openPullRequest(Object.fromEntries(['a/main.tf', 'b/main.tf'].map((path) => [path, 'theirs'])))
  push({ 'a/main.tf': 'ours', 'b/main.tf': 'ours' })

  await deliver('pull_request', pull)
  await app.runJobs()

  expect(await decisionsOf(a.id)).toEqual([
    ['merge-conflict', 'the pull request conflicts with its base in a/main.tf, b/main.tf'],
  ])
  expect(await runsOf(a.id)).toHaveLength(1)
})

test('a host that is down delays a delivery, which says so', async () => {
  const { host, deliver, push, reasons, deliveries } = await followed()
  host.isDown = true
  await deliver('push', push({ 'a/main.tf': '2' }))

  await app.runJobs()
  const [waiting] = await deliveries()
  host.isDown = false
  app.clock.advance(MINUTE_MS)
  await app.runJobs()

  expect(waiting).toMatchObject({
    status: 'pending',
    message: expect.stringMatching(/status 503; the next attempt is at/),
  })
  expect(await deliveries()).toMatchObject([{ status: 'decided', message: null }])
  expect(await reasons()).toEqual(['pushed', 'no-matching-files'])
})

test('a delivery fails after an hour, and the next one is decided', async () => {
  const { host, deliver, push, reasons, deliveries } = await followed()
  host.isDown = true
  await deliver('push', push({ 'a/main.tf': '2' }))
  await app.runJobs()
  app.clock.advance(61 * MINUTE_MS)
  // A new branch needs no comparison.
  await deliver('push', { ...push({ 'b/main.tf': '3' }), before: ZEROS })
  await app.runJobs()

  expect(await deliveries()).toMatchObject([
    { status: 'decided' },
    { status: 'failed', message: expect.stringContaining('status 503') },
  ])
  expect(await reasons()).toEqual(['pushed', 'pushed'])
  const events = await app.db
    .selectFrom('vcs_events')
    .select('message')
    .where('message', 'like', 'a delivery %')
    .execute()
  expect(events).toEqual([{ message: expect.stringContaining('status 503') }])
})

test('pushes to a branch are decided in their order, also if git is not asked about the newer one', async () => {
  const { a, deliver, push, runsOf } = await followed()
  await deliver('push', push({ 'a/main.tf': '2' }, 'older'))
  await deliver('push', { ...push({ 'a/main.tf': '3' }, 'newer'), before: ZEROS })

  await app.runJobs()
  const messages = (await runsOf(a.id)).map(({ attributes }: { attributes: { message: string } }) => attributes.message)

  expect(messages.slice(0, 2)).toEqual(['newer', 'older'])
})

async function loseJobs() {
  await sql`delete from pgboss.job where state = 'created' and name like 'vcs-deliveries.%'`.execute(app.db)
}

test('a delivery whose job is lost is decided after some hours, and so are those that wait for it', async () => {
  const { deliver, push, deliveries } = await followed()
  await deliver('push', push({ 'a/main.tf': '2' }))
  await loseJobs()
  await deliver('push', push({ 'b/main.tf': '2' }))
  await app.runJobs()
  const waiting = await deliveries()

  app.clock.advance(121 * MINUTE_MS)
  await resumeDeliveries(app.as())
  await app.runJobs()

  expect(waiting).toMatchObject([{ status: 'pending' }, { status: 'pending' }])
  expect(await deliveries()).toMatchObject([{ status: 'decided' }, { status: 'decided' }])
})

test('a delivery is decided, although the transaction that ended the earlier one did not see it', async () => {
  const { deliver, push, deliveries } = await followed()
  await deliver('push', push({ 'a/main.tf': '2' }), { id: 'earlier' })
  await loseJobs()
  let jobs: Promise<unknown> = Promise.resolve()

  await app.db.transaction().execute(async (tx) => {
    await tx
      .updateTable('vcs_deliveries')
      .set({ status: 'decided' })
      .where('delivery_key', '=', 'earlier')
      .executeTakeFirstOrThrow()
    await deliver('push', push({ 'b/main.tf': '2' }))
    jobs = app.runJobs()
    const ended = jobs.then(() => true)
    while (!(await Promise.race([ended, countLockWaits(app.db)])));
  })
  await jobs

  expect(await deliveries()).toMatchObject([{ status: 'decided' }, { status: 'decided' }])
})

test('a commit that git cannot fetch yet is waited for', async () => {
  const { repository, deliver, openPullRequest, reasons } = await followed()
  const pull = openPullRequest({ 'a/main.tf': '2' })
  repository.git('update-ref', '-d', 'refs/pull/7/head')
  repository.git('branch', '-D', 'topic')
  repository.git('reflog', 'expire', '--expire=now', '--all')
  repository.git('gc', '--quiet', '--prune=now')

  await deliver('pull_request', pull)
  await app.runJobs()
  const early = await reasons()
  // Authors and times are fixed, so this is the same commit.
  openPullRequest({ 'a/main.tf': '2' })
  app.clock.advance(MINUTE_MS)
  await app.runJobs()

  expect(early).toEqual(['', ''])
  expect(await reasons()).toEqual(['pull-request', 'no-matching-files'])
})
