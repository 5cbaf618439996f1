import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createBrowser } from '../../../testing/browser.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createTeam } from '../../../testing/teams.ts'
import { openChanges } from './open.ts'
import type { StreamActor } from './stream.ts'
import { watch } from './testing/watch.ts'

const app = await createTestApp()
const url = await app.listen()

function open(actor: StreamActor, organizationId: string, personId = actor.kind === 'user' ? actor.userId : '') {
  const closing = new AbortController()
  const watched = { actor, organizationId, personId }
  const readable = openChanges(app.as(), watched, { after: undefined, closing: closing.signal })
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
})

test('the last hundred streams are for users and organizations with few', async () => {
  await using streams = new AsyncDisposableStack()
  for (let number = 0; number < 200; number += 1) streams.use(open(user(number, `at-${number}`), 'org-1'))
  for (let number = 0; number < 200; number += 1)
    streams.use(open(user(number % 5, `at-${number % 50}`), 'org-2', `user-${number % 100}`))

  expect(() => open(user(1000, 'at-1000'), 'org-1')).toThrow(/^this organization has 200 streams of changes open/)
  for (let number = 0; number < 4; number += 1) streams.use(open(user(1001, 'at-1001'), 'org-3'))
  expect(() => open(user(1001, 'at-1002'), 'org-4')).toThrow(/^this user has 4 streams of changes open/)
  for (let number = 0; number < 96; number += 1)
    streams.use(open(user(2000 + number, `at-${2000 + number}`), `org-${(number % 4) + 4}`))
  expect(() => open(user(3000, 'at-3000'), 'org-5000')).toThrow(/^this server has 500 streams of changes open/)
})

test('a person has forty streams in all organizations, teams and sessions together', async () => {
  const [ada, bob] = [await createUser(app), await createUser(app)]
  const credentials: { organization: string; token?: string; headers?: Record<string, string> }[] = []
  for (const _ of [1, 2]) {
    const { id, name: organization } = await createOrganization(app, ada)
    const issue = async (path: string, token: string): Promise<string> => {
      const body = { data: { type: 'authentication-tokens', attributes: {} } }
      return (await app.request({ method: 'POST', url: path, token, body })).json().data.attributes.token
    }
    const ofOrganization = await issue(`/api/v2/organizations/${organization}/authentication-token`, ada.token)
    const teams = [await createTeam(app, id), await createTeam(app, id)].map((id) => `/api/v2/teams/${id}`)
    const tokens = [
      await issue(`${teams[0]}/authentication-token`, ada.token),
      // A token without a creator counts for the first owner.
      await issue(`${teams[1]}/authentication-token`, ofOrganization),
    ]
    const { cookie } = await createBrowser(app, ada.id)
    credentials.push({ organization, headers: { cookie } })
    for (const token of [ada.token, ofOrganization, ...tokens]) credentials.push({ organization, token })
  }

  const outcomes: string[] = []
  for (let round = 0; round < 6; round += 1) {
    for (const { organization, ...credential } of credentials) {
      const { status, headers } = await watch(url, organization, credential)
      outcomes.push(`${status} ${String(headers['retry-after'])}`)
    }
  }

  expect(outcomes).toEqual(Array.from({ length: 60 }, (_, index) => (index < 40 ? '200 undefined' : '429 5')))
  const { name } = await createOrganization(app, bob)
  expect((await watch(url, name, { token: bob.token })).status).toBe(200)
})
