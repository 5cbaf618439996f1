import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { openChanges } from './open.ts'
import type { StreamActor } from './stream.ts'

const app = await createTestApp()

function open(actor: StreamActor, organizationId: string) {
  const closing = new AbortController()
  const readable = openChanges(app.as(), { actor, organizationId }, { after: undefined, closing: closing.signal })
  return {
    async [Symbol.asyncDispose]() {
      readable.destroy()
      await once(readable, 'close')
    },
  }
}

function user(number: number, tokenId: string): StreamActor {
  return { kind: 'user', userId: `user-${number}`, username: 'ada', isSiteAdmin: false, teamId: undefined, tokenId }
}

test('a user has forty streams, whatever the number of tokens', async () => {
  await using streams = new AsyncDisposableStack()
  for (let number = 0; number < 40; number += 1) streams.use(open(user(1, `at-${number % 20}`), `org-${number % 20}`))

  expect(() => open(user(1, 'at-new'), 'org-new')).toThrow(/^this user has 40 streams of changes open/)
  streams.use(open(user(2, 'at-other'), 'org-1'))
})

test('an organization has no more than half of the streams of a server', async () => {
  await using streams = new AsyncDisposableStack()
  for (let number = 0; number < 250; number += 1) streams.use(open(user(number, `at-${number}`), 'org-1'))

  expect(() => open(user(251, 'at-251'), 'org-1')).toThrow(/^this organization has 250 streams of changes open/)
  for (let number = 0; number < 250; number += 1) streams.use(open(user(number, `at-${number}`), 'org-2'))
  expect(() => open(user(251, 'at-251'), 'org-3')).toThrow(/^this server has 500 streams of changes open/)
})
