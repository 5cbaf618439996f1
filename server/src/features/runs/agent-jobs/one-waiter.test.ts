import { AGENT_API } from '@groundstate/contract/agent'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { passedBy } from '../../../testing/database-proxy.ts'
import { type FakeAgent, createFakeAgent } from '../../../testing/fake-agent.ts'
import { createReplica } from '../../../testing/replica.ts'
import { addWorkspace, createRun, createRunSetting } from '../../../testing/runs.ts'
import { poolTopic } from '../runs/queued-job-store.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const other = await createFakeAgent(app, { name: 'other' })
let sent = ''
const replica = await createReplica(app, { reach })

/** Records what the replica sends to the database. */
async function reach(databaseUrl: string) {
  return passedBy(databaseUrl, (client, target) => {
    client.on('data', (data: Buffer) => {
      sent += data.toString('latin1')
    })
    client.pipe(target).pipe(client)
  })
}

/** How often the replica checked the queue for jobs, and tried to claim one. */
function looksThere() {
  return { checks: sent.split(' as ids').length - 1, claimed: sent.split('as has_agent from').length - 1 }
}

async function claimThere({ id, token }: FakeAgent) {
  const response = await replica.fastify.inject({
    method: 'POST',
    url: `${AGENT_API}/agents/${id}/claim`,
    headers: { authorization: `Bearer ${token}` },
    payload: { waitMs: 20_000 },
  })
  return response.statusCode === 200 ? (response.json().runId as string) : undefined
}

/** Resolves once a claim of this process waits. */
async function waitsHere() {
  await expect.poll(() => app.signals.toOne(poolTopic('apool-builtin'))).toContain(' ')
}

test('a job that is queued where a claim waits wakes no other server', async () => {
  const setting = await createRunSetting(app)
  const second = await addWorkspace(app, setting)
  const there = claimThere(other)
  await expect.poll(() => looksThere().checks).toBeGreaterThan(0)
  const here = agent.claim({ waitMs: 20_000 })
  await waitsHere()
  const before = looksThere()

  const first = await createRun(app, setting, { 'plan-only': true })
  const job = await here
  const next = await createRun(app, second, { 'plan-only': true })

  expect(job?.runId).toBe(first)
  expect(await there).toBe(next)
  // Signals arrive in order: the first was received before the second, for which no other claim waited.
  expect(looksThere().claimed - before.claimed).toBe(1)
  await job?.finish({ hasChanges: false })
})

test('jobs that the claims of a server cannot take are signalled to another server immediately', async () => {
  const setting = await createRunSetting(app)
  replica.app.polls[Symbol.dispose]()
  sent = ''
  const there = claimThere(other)
  await expect.poll(() => sent.includes(other.id)).toBe(true)
  void agent.claim({ waitMs: 20_000, accepts: ['apply'] })
  await waitsHere()

  const run = await createRun(app, setting, { 'plan-only': true })
  const started = performance.now()

  expect(await there).toBe(run)
  // Without a signal, the claim checks the queue when its time is up.
  expect(performance.now() - started).toBeLessThan(5000)
})
