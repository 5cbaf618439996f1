import { GitError } from '@groundstate/agent/git/errors'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { type Attempts, attempt } from './attempts.ts'

let now = 0
const ctx = { now: () => new Date(now), log: pino({ level: 'silent' }) }
const repository = { id: 'repo-1', oauth_token_id: 'ot-1', github_app_installation_id: null }
const { signal } = new AbortController()

async function failing(): Promise<never> {
  throw new GitError('unreachable', 'down')
}

test('an hour of attempts begins with the first one that did not wait for others', async () => {
  const first = Promise.withResolvers<void>()
  const running = attempt(ctx, { repository, attempts: undefined, signal, isReported: true }, async () => first.promise)
  const waiting = await attempt(ctx, { repository, attempts: undefined, signal, isReported: true }, failing)
  if (waiting.kind !== 'retry') throw new Error(waiting.kind)
  now += 2 * 3_600_000
  first.resolve()
  await running

  const early = await attempt(ctx, { repository, attempts: waiting.attempts, signal, isReported: true }, failing)
  if (early.kind !== 'retry') throw new Error(early.kind)
  now += 3_600_000
  const late = await attempt(ctx, { repository, attempts: early.attempts, signal, isReported: true }, failing)

  expect(waiting).not.toHaveProperty('failure')
  expect(early).toMatchObject({ failure: 'down', attempts: { count: 1 } })
  expect(late).toMatchObject({ kind: 'failed', failure: 'down' })
})

test('jobs of a repository share the failure of its host, and the wait for the next attempt', async () => {
  const shared = { ...repository, id: 'repo-2', oauth_token_id: 'ot-2' }
  let asked = 0
  const ask = async () => {
    asked += 1
    return failing()
  }
  const input = { repository: shared, attempts: undefined, signal, isReported: true }

  const first = await attempt(ctx, input, ask)
  const second = await attempt(ctx, input, ask)
  if (second.kind !== 'retry') throw new Error(second.kind)
  now += 3_600_000 - 1
  const last = await attempt(ctx, { ...input, attempts: second.attempts }, ask)
  now += 1
  const ended = await attempt(ctx, { ...input, attempts: second.attempts }, ask)

  expect(second).toEqual(first)
  expect(last).toMatchObject({ kind: 'retry', attempts: { count: 2 } })
  expect(ended).toMatchObject({ kind: 'failed', failure: 'down' })
  expect(asked).toBe(2)
})

test('a repository that can be read again has short waits after its next failure', async () => {
  const input = {
    repository: { ...repository, id: 'repo-3', oauth_token_id: 'ot-3' },
    attempts: undefined,
    signal,
    isReported: true,
  }
  const waitOf = async (work: () => Promise<unknown>) => {
    const outcome = await attempt(ctx, input, work)
    if (outcome.kind !== 'retry') return 0
    const waitMs = outcome.at.getTime() - now
    now += waitMs
    return waitMs
  }

  const waits = [
    await waitOf(failing),
    await waitOf(failing),
    await waitOf(async () => 'content'),
    await waitOf(failing),
  ]

  expect(waits).toEqual([2000, 4000, 0, 2000])
})

test('a job that waits for others again and again does so less and less often', async () => {
  const input = {
    repository: { ...repository, id: 'repo-4', oauth_token_id: 'ot-4' },
    attempts: undefined,
    signal,
    isReported: true,
  }
  const { promise: hold, resolve: release } = Promise.withResolvers<void>()
  const running = attempt(ctx, input, async () => hold)
  const waits: number[] = []
  for (let attempts: Attempts | undefined; waits.length < 7;) {
    const waiting = await attempt(ctx, { ...input, attempts }, failing)
    if (waiting.kind !== 'retry') throw new Error(waiting.kind)
    waits.push((waiting.at.getTime() - now) / 1000)
    attempts = waiting.attempts
  }
  release()
  await running

  expect(waits[0]).toBeLessThanOrEqual(1)
  expect(waits[6]).toBeGreaterThanOrEqual(8)
  expect(waits[6]).toBeLessThanOrEqual(16)
})

test('a connection whose host has failed is left alone for a while, with all its repositories', async () => {
  const connection = { ...repository, oauth_token_id: 'ot-5' }
  const input = { attempts: undefined, signal, isReported: true }
  let asked = 0
  const ask = async (id: string, work: () => Promise<unknown>) =>
    attempt(ctx, { ...input, repository: { ...connection, id } }, async () => {
      asked += 1
      return work()
    })

  const failed = await ask('repo-5', failing)
  const other = await ask('repo-6', failing)
  if (failed.kind !== 'retry' || other.kind !== 'retry') throw new Error(other.kind)
  now = other.at.getTime()
  const later = await ask('repo-6', async () => 'content')
  const again = await ask('repo-7', async () => 'content')

  expect(other).toMatchObject({ at: failed.at, attempts: { count: 0 } })
  expect(other).not.toHaveProperty('failure')
  expect([later.kind, again.kind, asked]).toEqual(['done', 'done', 3])
})
