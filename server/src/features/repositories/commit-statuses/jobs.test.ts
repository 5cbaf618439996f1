import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { countLockWaits } from '../../../testing/lock-waits.ts'
import { actOnRun } from '../../../testing/runs.ts'
import { COMMENT_ROUTES, SHA, connectHost, giteaRoutes, pullRequestOf, pushOf, statusRoute } from './testing/commits.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const agent = await createFakeAgent(app)
const COUNTS = { additions: 2, changes: 1, destructions: 0, imports: 0 }

const skipOf = (id: string) =>
  ({ workspace_id: id, decision: 'skip', reason: 'no-matching-files', detail: 'network/' }) as const
type Sent = { context: string; state: string; description: string; target_url: string }
const sentTo = (host: { bodies: (route: string) => unknown[] }, sha: string) => host.bodies(statusRoute(sha)) as Sent[]
type Host = Awaited<ReturnType<typeof connectHost>>['host']

/** Makes the host hold the first statuses of a commit; returns what answers one of them once it has arrived. */
function holdStatuses(host: Host, sha: string, count: number) {
  const held: ((status?: number) => void)[] = []
  host.reply(statusRoute(sha), () => (response) => {
    const answer = (status = 201) => void response.writeHead(status).end('{}')
    if (held.length < count) held.push(answer)
    else answer()
  })
  return async (index: number) => {
    await expect.poll(() => held.length).toBeGreaterThan(index)
    return (status?: number) => held[index]?.(status)
  }
}

const words = (sent: Sent[]) => sent.map(({ state, description }) => [state, description])

test('the status of a push follows its run until the apply', async () => {
  const { host, owner, organization, addWorkspace, startRun, runJobs } = await connectHost(app)
  const workspace = await addWorkspace()
  const runId = await startRun(workspace.id, pushOf(SHA.head))

  await runJobs()
  const plan = await agent.take()
  await runJobs()
  await plan.finish({ counts: COUNTS })
  await runJobs()
  await actOnRun(app, { user: owner }, { run: runId, action: 'apply' })
  const apply = await agent.take()
  await runJobs()
  await apply.finish({ counts: COUNTS })
  await runJobs()

  const sent = sentTo(host, SHA.head)
  expect(words(sent)).toEqual([
    ['pending', 'plan queued'],
    ['pending', 'planning'],
    ['pending', '2 to add, 1 to change, 0 to destroy; waiting for confirmation'],
    ['pending', 'applying'],
    ['success', '2 added, 1 changed, 0 destroyed'],
  ])
  expect(sent[0]).toMatchObject({
    context: `Groundstate/${organization.name}/${workspace.name}`,
    target_url: `http://groundstate.test/app/${organization.name}/workspaces/${workspace.name}/runs/${runId}`,
  })
})

test('a failed apply turns the commit red', async () => {
  const { host, owner, addWorkspace, startRun, runJobs } = await connectHost(app)
  const runId = await startRun((await addWorkspace()).id, pushOf(SHA.head))
  await (await agent.take()).finish({ counts: COUNTS })
  await actOnRun(app, { user: owner }, { run: runId, action: 'apply' })

  await (await agent.take()).finish({ status: 'errored', message: 'secret-value is not allowed' })
  await runJobs()

  expect(words(sentTo(host, SHA.head))).toEqual([['error', 'the apply failed']])
})

test('speculative plans pass, and discarded runs do not', async () => {
  const { host, owner, addWorkspace, startRun, runJobs } = await connectHost(app)
  const workspace = await addWorkspace()
  await startRun(workspace.id, pullRequestOf('opened'))
  await (await agent.take()).finish({ counts: COUNTS })
  const runId = await startRun(workspace.id, pushOf(SHA.merge))
  await (await agent.take()).finish({ counts: COUNTS })
  await runJobs()

  await actOnRun(app, { user: owner }, { run: runId, action: 'discard' })
  await runJobs()

  expect(words(sentTo(host, SHA.head))).toEqual([['success', '2 to add, 1 to change, 0 to destroy']])
  expect(words(sentTo(host, SHA.merge)).at(-1)).toEqual(['error', 'the run was discarded'])
})

test('a plan without changes passes, and a failed plan does not', async () => {
  const { host, addWorkspace, startRun, runJobs } = await connectHost(app)
  const workspace = await addWorkspace()
  await startRun(workspace.id, pushOf(SHA.head))
  await (await agent.take()).finish({ hasChanges: false })
  await startRun(workspace.id, pushOf(SHA.other))

  await (await agent.take()).finish({ status: 'errored' })
  await runJobs()

  expect(words(sentTo(host, SHA.head))).toEqual([['success', 'no changes']])
  expect(words(sentTo(host, SHA.other))).toEqual([['error', 'the plan failed']])
})

test('a workspace without matching files passes with the reason, and other skipped ones have no status', async () => {
  const { host, organization, addWorkspace, report, runJobs } = await connectHost(app)
  const [unconcerned, elsewhere] = [await addWorkspace(), await addWorkspace()]

  await report(pushOf(SHA.head), [
    skipOf(unconcerned.id),
    { workspace_id: elsewhere.id, decision: 'skip', reason: 'other-branch', detail: 'stable' },
  ])
  await runJobs()

  expect(sentTo(host, SHA.head)).toEqual([
    {
      context: `Groundstate/${organization.name}/${unconcerned.name}`,
      state: 'success',
      description: 'no changed file matches network/',
      target_url: `http://groundstate.test/app/${organization.name}/workspaces/${unconcerned.name}/deliveries`,
    },
  ])
})

test.each([
  [{}, 1],
  [{ 'aggregated-commit-status-enabled': false }, 0],
  [
    {
      'aggregated-commit-status-enabled': false,
      'send-passing-statuses-for-untriggered-speculative-plans': true,
    },
    1,
  ],
])(
  'the settings %j of the organization decide whether workspaces that a pull request skips pass',
  async (settings, count) => {
    const { host, organization, send, addWorkspace, report, runJobs } = await connectHost(app)
    const { id } = await addWorkspace()
    await send('PATCH', `organizations/${organization.name}`, { type: 'organizations', attributes: settings })
    const skip = skipOf(id)

    await report(pullRequestOf('opened'), [skip])
    await report(pushOf(SHA.merge), [skip])
    await runJobs()

    expect(sentTo(host, SHA.head)).toHaveLength(count)
    expect(words(sentTo(host, SHA.merge))).toEqual([['success', 'no changed file matches network/']])
  },
)

test('the run of a commit replaces its plan at the same commit', async () => {
  const { host, addWorkspace, startRun, runJobs } = await connectHost(app)
  const workspace = await addWorkspace()
  await startRun(workspace.id, pullRequestOf('opened'))
  const runId = await startRun(workspace.id, pushOf(SHA.head))
  const [first, second] = [await agent.take(), await agent.take()]
  const [push, plan] = first.runId === runId ? [first, second] : [second, first]

  await push.finish({ hasChanges: false })
  await runJobs()
  await plan.finish({ counts: COUNTS })
  await runJobs()

  expect(words(sentTo(host, SHA.head))).toEqual([['success', 'no changes']])
})

test('an equal status is not sent again', async () => {
  const { host, addWorkspace, report, runJobs } = await connectHost(app)
  const { id } = await addWorkspace()
  const skip = skipOf(id)

  await report(pushOf(SHA.head), [skip])
  await runJobs()
  await report(pushOf(SHA.head), [skip])
  await runJobs()

  expect(sentTo(host, SHA.head)).toHaveLength(1)
})

test('a host that is down gets the latest status once it is back', async () => {
  const { host, addWorkspace, startRun, runJobs } = await connectHost(app)
  host.reply(statusRoute(SHA.head), { status: 502, body: 'down' })
  await startRun((await addWorkspace()).id, pushOf(SHA.head))
  await runJobs()
  await (await agent.take()).finish({ hasChanges: false })
  await runJobs()
  const early = sentTo(host, SHA.head).length

  host.reply(statusRoute(SHA.head), { status: 201, body: {} })
  app.clock.advance(60_000)
  await runJobs()

  expect(words(sentTo(host, SHA.head)).slice(early)).toEqual([['success', 'no changes']])
})

test('a host that limits requests is left alone for the time that it names', async () => {
  const { host, addWorkspace, startRun, runJobs } = await connectHost(app)
  const workspaces = [await addWorkspace(), await addWorkspace(), await addWorkspace()]
  host.reply(statusRoute(SHA.head), { status: 429, headers: { 'retry-after': '600' }, body: { message: 'slow down' } })
  for (const { id } of workspaces) await startRun(id, pushOf(SHA.head))
  await runJobs()
  const early = sentTo(host, SHA.head).length
  host.reply(statusRoute(SHA.head), { status: 201, body: {} })

  app.clock.advance(300_000)
  await runJobs()
  const during = sentTo(host, SHA.head).length
  app.clock.advance(300_000)
  await runJobs()

  // Requests under way when the first refusal arrives cannot be recalled.
  expect(early).toBeLessThanOrEqual(2)
  expect(during).toBe(early)
  expect(sentTo(host, SHA.head).slice(early)).toHaveLength(3)
  for (const _ of workspaces) await (await agent.take()).finish({ hasChanges: false })
})

test('a refusal ends the attempts at the commit, until something changes', async () => {
  const { host, addWorkspace, startRun, runJobs } = await connectHost(app)
  const workspaces = await Promise.all(Array.from({ length: 6 }, async () => addWorkspace()))
  host.reply(statusRoute(SHA.head), { status: 403, body: { message: 'not a writer' } })
  for (const { id } of workspaces) await startRun(id, pushOf(SHA.head))

  await runJobs()
  app.clock.advance(3_600_000)
  await runJobs()
  const stored = await app.db.selectFrom('commit_statuses').select('error').where('commit_sha', '=', SHA.head).execute()

  expect(sentTo(host, SHA.head).length).toBeLessThanOrEqual(2)
  expect(stored.filter(({ error }) => error?.includes('not a writer'))).toHaveLength(6)
  for (const _ of workspaces) await (await agent.take()).finish({ hasChanges: false })
})

test('the refusal of one commit does not end the attempts at others', async () => {
  const { host, addWorkspace, report, runJobs } = await connectHost(app)
  const workspaces = [await addWorkspace(), await addWorkspace(), await addWorkspace()]
  const skips = workspaces.map(({ id }) => skipOf(id))
  host.reply(statusRoute(SHA.head), { status: 422, body: { message: 'No commit found for SHA' } })

  await report(pushOf(SHA.head), skips)
  app.clock.advance(1)
  await report(pushOf(SHA.other), skips)
  await runJobs()

  expect(sentTo(host, SHA.other)).toHaveLength(3)
})

test('a refusal is an event of the connection, once until the host accepts a status again', async () => {
  const { host, owner, organization, addWorkspace, report, runJobs } = await connectHost(app)
  const { id } = await addWorkspace()
  const skipCommit = async (sha: string, status: number) => {
    host.reply(statusRoute(sha), { status, body: { message: 'not a writer' } })
    await report(pushOf(sha), [skipOf(id)])
    await runJobs()
    const events = await app.request({
      method: 'GET',
      url: `/api/v2/organizations/${organization.name}/vcs-events?filter[levels]=error`,
      token: owner.token,
    })
    const messages = events.json().data.map(({ attributes }: { attributes: { message: string } }) => attributes.message)
    // The host of the test has no git.
    return messages.filter((message: string) => !message.includes('is not a repository'))
  }

  const first = await skipCommit(SHA.head, 403)
  const second = await skipCommit(SHA.other, 403)
  await skipCommit(SHA.base, 201)
  const third = await skipCommit(SHA.merge, 403)

  expect(first).toEqual([expect.stringMatching(/^could not set the status of 1111.* in acme\/network: .*not a writer/)])
  expect(second).toEqual(first)
  expect(third).toHaveLength(2)
})

test('a host that refuses a status is not asked again while a transaction changes it', async () => {
  const { host, addWorkspace, report, sendDue } = await connectHost(app)
  const { id } = await addWorkspace()
  host.reply(statusRoute(SHA.head), { status: 403, body: { message: 'not a writer' } })
  await report(pushOf(SHA.head), [skipOf(id)])
  const { promise: sent, resolve } = Promise.withResolvers<unknown>()

  await app.db.transaction().execute(async (tx) => {
    await tx.selectFrom('commit_statuses').select('version').where('workspace_id', '=', id).forUpdate().execute()
    resolve(sendDue())
    const hasEnded = async () => sentTo(host, SHA.head).length > 1 || (await countLockWaits(app.db)) > 0
    await expect.poll(hasEnded).toBe(true)
  })
  await sent

  expect(sentTo(host, SHA.head)).toHaveLength(1)
})

test.each([
  ['a status', 'commit_statuses', `sent ->> 'description' not like '%broken%'`],
  ['a comment', 'pull_request_comments', 'pull_request_number <> 11'],
])('%s that cannot be stored does not hold back others', async (_, table, check) => {
  const { host, addWorkspace, report, startRun, runJobs } = await connectHost(app)
  const [first, second] = [await addWorkspace(), await addWorkspace()]
  await sql.raw(`alter table ${table} add constraint broken check (${check}) not valid`).execute(app.db)
  onTestFinished(async () => void (await sql.raw(`alter table ${table} drop constraint broken`).execute(app.db)))
  const conflict = { workspace_id: first.id, decision: 'skip', reason: 'merge-conflict', detail: 'broken.tf' } as const

  await report(pullRequestOf('opened', { number: 11, head: SHA.base }), [conflict])
  await startRun(second.id, pullRequestOf('opened'))
  await (await agent.take()).finish({ hasChanges: false })
  for (let minute = 0; minute < 3; minute += 1) await runJobs()

  expect(sentTo(host, SHA.base)).toHaveLength(1)
  expect(words(sentTo(host, SHA.head))).toEqual([['success', 'no changes']])
  expect(host.bodies(COMMENT_ROUTES.create)).toHaveLength(1)
  const stored = app.db.selectFrom('commit_statuses').selectAll().where('workspace_id', '=', first.id)
  expect(await stored.execute()).toEqual([expect.objectContaining({ sent_version: 1, commented_version: 1 })])
})

test('a description is not cut within a character', async () => {
  const { host, addWorkspace, report, runJobs } = await connectHost(app)
  const workspaces = [await addWorkspace(), await addWorkspace()]
  const details = ['', 'x'].map((start) => `${start}${'😀'.repeat(100)}.tf`)

  await report(
    pullRequestOf('opened'),
    workspaces.map(({ id }, index) => ({
      workspace_id: id,
      decision: 'skip',
      reason: 'merge-conflict',
      detail: details[index] ?? '',
    })),
  )
  await runJobs()
  await runJobs()

  const sent = sentTo(host, SHA.head)
  expect(sent).toHaveLength(2)
  expect(sent.map(({ description }) => description.endsWith('😀…'))).toEqual([true, true])
})

test('statuses of a refused token are sent with the next token', async () => {
  const { host, tokenId, clientId, send, addWorkspace, startRun, runJobs } = await connectHost(app)
  host.reply(statusRoute(SHA.head), { status: 401, body: { message: 'token revoked' } })
  await startRun((await addWorkspace()).id, pushOf(SHA.head))
  await (await agent.take()).finish({ hasChanges: false })
  await runJobs()
  const refused = sentTo(host, SHA.head).length
  host.reply(statusRoute(SHA.head), { status: 201, body: {} })

  await send('PATCH', `oauth-clients/${clientId}`, {
    type: 'oauth-clients',
    id: clientId,
    attributes: { 'oauth-token-string': 'gta_new' },
  })
  await runJobs()

  expect([refused, tokenId]).toEqual([1, expect.any(String)])
  expect(sentTo(host, SHA.head)).toHaveLength(2)
})

test('what the host refused is sent with the next token', async () => {
  const { host, clientId, send, addWorkspace, startRun, runJobs } = await connectHost(app)
  host.reply(statusRoute(SHA.head), { status: 403, body: { message: 'not a writer' } })
  host.reply(COMMENT_ROUTES.create, { status: 403, body: { message: 'not a writer' } })
  await startRun((await addWorkspace()).id, pullRequestOf('opened'))
  await (await agent.take()).finish({ hasChanges: false })
  await runJobs()
  const countAsked = () => [sentTo(host, SHA.head).length, host.bodies(COMMENT_ROUTES.create).length]
  const [statuses = 0, comments = 0] = countAsked()

  await send('PATCH', `oauth-clients/${clientId}`, {
    type: 'oauth-clients',
    id: clientId,
    attributes: { 'oauth-token-string': 'gta_new' },
  })
  await runJobs()

  expect(countAsked()).toEqual([statuses + 1, comments + 1])
})

test('what a shutdown interrupts is left to another process', async () => {
  const { host, addWorkspace, report, sendDue, runJobs } = await connectHost(app)
  const workspaces = await Promise.all(Array.from({ length: 3 }, async () => addWorkspace()))
  await report(
    pushOf(SHA.head),
    workspaces.map(({ id }) => skipOf(id)),
  )
  const shutdown = new AbortController()
  const held = holdStatuses(host, SHA.head, 2)

  const sending = sendDue(shutdown.signal)
  const answers = [await held(0), await held(1)]
  shutdown.abort(new Error('shutdown'))
  for (const answer of answers) answer()
  await sending
  const early = sentTo(host, SHA.head).length
  await runJobs()

  expect(early).toBe(2)
  expect(sentTo(host, SHA.head)).toHaveLength(3)
})

/** Lets the interval of renewals pass. */
function fakeIntervals() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
}

const leasedUntil = async (connectionId: string) => {
  const leases = app.db.selectFrom('host_reports').select('lease_expires_at').where('id', '=', connectionId)
  return (await leases.executeTakeFirstOrThrow()).lease_expires_at?.getTime() ?? 0
}

test('a lease is renewed while the host takes its time', async () => {
  fakeIntervals()
  const { host, tokenId, addWorkspace, report, sendDue } = await connectHost(app)
  await report(pushOf(SHA.head), [skipOf((await addWorkspace()).id)])
  const held = holdStatuses(host, SHA.head, 1)
  const sending = sendDue()
  const answer = await held(0)
  const before = await leasedUntil(tokenId)

  app.clock.advance(7000)
  vi.advanceTimersByTime(7000)
  await expect.poll(async () => leasedUntil(tokenId)).toBeGreaterThan(before)
  app.clock.advance(5000)
  await sendDue()
  const during = sentTo(host, SHA.head).length
  answer()
  await sending

  expect(during).toBe(1)
})

test.each([201, 502])(
  'a process that was suspended leaves the lease and what is due to its successor, after a response %i',
  async (status) => {
    fakeIntervals()
    const { host, tokenId, addWorkspace, report, sendDue } = await connectHost(app)
    const workspaces = await Promise.all(Array.from({ length: 4 }, async () => addWorkspace()))
    await report(
      pushOf(SHA.head),
      workspaces.map(({ id }) => skipOf(id)),
    )
    const held = holdStatuses(host, SHA.head, 4)
    const suspended = sendDue()
    const late = [await held(0), await held(1)]
    app.clock.advance(60_000)
    const successor = sendDue()
    const answers = [await held(2), await held(3)]
    const before = await leasedUntil(tokenId)

    app.clock.advance(5000)
    vi.advanceTimersByTime(5000)
    await expect.poll(async () => leasedUntil(tokenId)).toBeGreaterThan(before)
    const renewed = await leasedUntil(tokenId)
    for (const answer of late) answer(status)
    await suspended
    const during = [sentTo(host, SHA.head).length, await leasedUntil(tokenId)]
    for (const answer of answers) answer()
    await successor

    expect(during).toEqual([4, renewed])
    expect(sentTo(host, SHA.head)).toHaveLength(6)
  },
)

test('a status that a suspended process sends late is replaced by the latest', async () => {
  const { host, addWorkspace, startRun, sendDue } = await connectHost(app)
  await startRun((await addWorkspace()).id, pushOf(SHA.head))
  const held = holdStatuses(host, SHA.head, 1)
  const suspended = sendDue()
  const answer = await held(0)
  await (await agent.take()).finish({ hasChanges: false })
  app.clock.advance(60_000)
  await sendDue()

  answer()
  await suspended

  const success = ['success', 'no changes']
  expect(words(sentTo(host, SHA.head))).toEqual([['pending', 'plan queued'], success, success])
})

test('a killed process leaves its statuses to the process that finds its lease expired', async () => {
  const { host, tokenId, addWorkspace, startRun, runJobs } = await connectHost(app, giteaRoutes())
  await startRun((await addWorkspace()).id, pushOf(SHA.head))
  await (await agent.take()).finish({ hasChanges: false })
  const leased = new Date(app.clock.now().getTime() + 60_000)
  await app.db.insertInto('host_reports').values({ id: tokenId, lease_expires_at: leased, attempts: 1 }).execute()
  await runJobs()
  const during = sentTo(host, SHA.head).length

  app.clock.advance(60_000)
  await runJobs()

  expect(during).toBe(0)
  expect(words(sentTo(host, SHA.head))).toEqual([['success', 'no changes']])
})

test('one process at a time sends, so that a later status comes last', async () => {
  const { host, addWorkspace, startRun, sendDue } = await connectHost(app)
  const held = holdStatuses(host, SHA.head, 1)
  await startRun((await addWorkspace()).id, pushOf(SHA.head))

  const first = sendDue()
  const answer = await held(0)
  await (await agent.take()).finish({ hasChanges: false })
  await sendDue()
  const during = words(sentTo(host, SHA.head))
  answer()
  await first

  expect(during).toEqual([['pending', 'plan queued']])
  expect(words(sentTo(host, SHA.head))).toEqual([...during, ['success', 'no changes']])
})
