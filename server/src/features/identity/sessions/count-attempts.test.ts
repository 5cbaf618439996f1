import { beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { ATTEMPT_LIMITS, KNOWN_ADDRESS_TTL_MS, countAttempt, sweepSessionsJob } from './count-attempts.ts'

const PASSWORD = 'a good password'
let app: TestApp
beforeAll(async () => {
  app = await createTestApp()
})
// What an earlier test has counted is over.
beforeEach(() => app.clock.advance(ATTEMPT_LIMITS.windowMs))

const signIn = (username: string, password: string) =>
  app.request({ method: 'POST', url: '/api/v2/sessions', body: { username, password } })

/** Uses up the attempts of all addresses together, from networks that no one has signed in from. */
async function failEverywhere(account: string) {
  for (let index = 0; index < ATTEMPT_LIMITS.account / ATTEMPT_LIMITS.pair; index += 1)
    await fail(account, ATTEMPT_LIMITS.pair, `2001:db8:0:${index}::1`)
}

/** Counts attempts as sign-ins do, without the time that hashing takes. */
async function fail(account: string, times: number, address = '127.0.0.1') {
  const ctx = { ...app.as(), request: { id: 'test', address, userAgent: undefined } }
  for (let index = 0; index < times; index += 1) await countAttempt(ctx, account)
}

test('after too many wrong passwords the right one has to wait too, until the window has passed', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await fail(user.id, ATTEMPT_LIMITS.pair)

  const refused = await signIn(user.username, PASSWORD)
  app.clock.advance(ATTEMPT_LIMITS.windowMs)
  const taken = await signIn(user.username, PASSWORD)

  expect(refused.status).toBe(429)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(800)
  expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(900)
  expect(refused.json().errors[0].detail).toContain('try again in 15 min')
  expect(taken.status).toBe(201)
})

test('name and address are one account, and the right password starts afresh', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, 'wrong')
  await signIn(user.email, 'wrong')
  await fail(user.id, ATTEMPT_LIMITS.pair - 3)

  expect((await signIn(user.email, PASSWORD)).status).toBe(201)
  await fail(user.id, ATTEMPT_LIMITS.pair)
  expect((await signIn(user.username, PASSWORD)).status).toBe(429)
})

test('a name that no one has is limited alike', async () => {
  await fail('nobody', ATTEMPT_LIMITS.pair)

  expect((await signIn('NoBody', 'wrong')).status).toBe(429)
})

test('nobody is locked out by wrong passwords from another address, and many addresses together are held up', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await fail(user.id, ATTEMPT_LIMITS.pair, '203.0.113.1')

  await expect(fail(user.id, 1, '203.0.113.1')).rejects.toMatchObject({ kind: 'too-many-requests' })
  expect((await signIn(user.username, PASSWORD)).status).toBe(201)
  for (let index = 2; index <= ATTEMPT_LIMITS.account / ATTEMPT_LIMITS.pair; index += 1)
    await fail(user.id, ATTEMPT_LIMITS.pair, `203.0.113.${index}`)
  await expect(fail(user.id, 1, '198.51.100.1')).rejects.toMatchObject({ kind: 'too-many-requests' })
})

test('a person is not held up where they have signed in lately, whatever is tried elsewhere', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  await failEverywhere(user.id)

  expect((await signIn(user.username, PASSWORD)).status).toBe(201)
  await expect(fail(user.id, 1, '198.51.100.1')).rejects.toMatchObject({ kind: 'too-many-requests' })
})

test('nor by what others have tried from the same address', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  for (let index = 0; index < ATTEMPT_LIMITS.address; index += 1) await fail(`other-${index}`, 1)

  expect((await signIn(user.username, PASSWORD)).status).toBe(201)
})

test('where a person has signed in, their password can be tried as often as from any other address', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  await fail(user.id, ATTEMPT_LIMITS.pair)

  expect((await signIn(user.username, PASSWORD)).status).toBe(429)
})

test('an address at which a person was long ago is like any other', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  app.clock.advance(KNOWN_ADDRESS_TTL_MS)
  await failEverywhere(user.id)

  expect((await signIn(user.username, PASSWORD)).status).toBe(429)
})

test('what is refused for one account does not use up the attempts of others at the address', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await fail('someone', ATTEMPT_LIMITS.pair)

  const more = Array.from({ length: ATTEMPT_LIMITS.address }, () => fail('someone', 1))
  await Promise.allSettled(more)

  expect((await signIn(user.username, PASSWORD)).status).toBe(201)
})

test('an address that has tried enough adds no counter for a new name', async () => {
  for (let index = 0; index < ATTEMPT_LIMITS.address; index += 1) await fail(`name-${index}`, 1)
  const before = await app.db.selectFrom('sign_in_attempts').select('key').execute()

  await expect(fail('another-name', 1)).rejects.toMatchObject({ kind: 'too-many-requests' })

  expect(await app.db.selectFrom('sign_in_attempts').select('key').execute()).toHaveLength(before.length)
})

test('one address cannot try many accounts, and does not block others', async () => {
  const user = await createUser(app, { password: PASSWORD })
  for (let index = 0; index < ATTEMPT_LIMITS.address / 10; index += 1) await fail(`someone-${index}`, 10)

  expect((await signIn(user.username, PASSWORD)).status).toBe(429)
  await expect(fail('elsewhere', 1, '203.0.113.9')).resolves.toBeUndefined()
})

test('for one account the addresses of an IPv6 network of 64 bits count as one', async () => {
  for (let index = 0; index < ATTEMPT_LIMITS.pair; index += 1)
    await fail('someone', 1, `2001:db8:1:2::${index.toString(16)}`)

  await expect(fail('someone', 1, '2001:db8:1:2:ffff::1')).rejects.toMatchObject({ kind: 'too-many-requests' })
  await expect(fail('someone', 1, '2001:db8:1:3::1')).resolves.toBeUndefined()
})

test('for all accounts the addresses of an IPv6 network of 48 bits count as one', async () => {
  for (let index = 0; index < ATTEMPT_LIMITS.address; index += 1)
    await fail(`someone-${index}`, 1, `2001:db8:1:${index.toString(16)}::1`)

  await expect(fail('one-more', 1, '2001:db8:1:ffff::1')).rejects.toMatchObject({ kind: 'too-many-requests' })
  await expect(fail('one-more', 1, '2001:db8:2::1')).resolves.toBeUndefined()
})

test('attempts side by side do not slip under the limit', async () => {
  const results = await Promise.allSettled(Array.from({ length: ATTEMPT_LIMITS.pair + 5 }, () => fail('someone', 1)))

  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(ATTEMPT_LIMITS.pair)
})

test('behind a proxy the client counts, and what a client claims without one does not', async () => {
  const proxied = await createTestApp({ GROUNDSTATE_TRUST_PROXY: 'loopback' })
  const attempt = async (on: TestApp, username: string, address: string) =>
    (
      await on.request({
        method: 'POST',
        url: '/api/v2/sessions',
        headers: { 'x-forwarded-for': address },
        body: { username, password: 'wrong' },
      })
    ).status
  const last = async (on: TestApp, addresses: readonly string[]) => {
    const { username } = await createUser(on, { password: PASSWORD })
    for (let index = 0; index < ATTEMPT_LIMITS.pair; index += 1) await attempt(on, username, '203.0.113.1')
    return Promise.all(addresses.map(async (address) => attempt(on, username, address)))
  }

  expect(await last(proxied, ['203.0.113.1', '203.0.113.2'])).toEqual([429, 401])
  expect(await last(app, ['203.0.113.1', '203.0.113.2'])).toEqual([429, 429])
})

test('counters and places are swept once they say nothing any more', async () => {
  const sweep = async () => {
    await app.jobs.enqueue(app.db, sweepSessionsJob, {})
    await app.runJobs()
  }
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  await fail('someone', 1)
  const places = app.db.selectFrom('sign_in_places').select('user_id').where('user_id', '=', user.id)

  app.clock.advance(ATTEMPT_LIMITS.windowMs + 1)
  await sweep()
  expect(await app.db.selectFrom('sign_in_attempts').selectAll().execute()).toEqual([])
  expect(await places.execute()).toHaveLength(1)

  app.clock.advance(KNOWN_ADDRESS_TTL_MS)
  await sweep()
  expect(await places.execute()).toEqual([])
})
