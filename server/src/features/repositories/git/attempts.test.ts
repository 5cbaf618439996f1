import { GitError } from '@groundstate/agent/git/errors'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { attempt } from './attempts.ts'

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
  expect(late).toEqual({ kind: 'failed', failure: 'down' })
})

test('jobs of a repository share the failure of its host, and the wait for the next attempt', async () => {
  const shared = { ...repository, id: 'repo-2' }
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
  expect(ended).toEqual({ kind: 'failed', failure: 'down' })
  expect(asked).toBe(2)
})

test('a repository that can be read again is asked at once', async () => {
  const input = { repository: { ...repository, id: 'repo-3' }, attempts: undefined, signal, isReported: true }
  const down = await attempt(ctx, input, failing)
  if (down.kind !== 'retry') throw new Error(down.kind)
  now = down.at.getTime()

  const up = await attempt(ctx, { ...input, attempts: down.attempts }, async () => 'content')
  const another = await attempt(ctx, input, async () => 'content')

  expect([up, another]).toEqual([
    { kind: 'done', result: 'content' },
    { kind: 'done', result: 'content' },
  ])
})
