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
