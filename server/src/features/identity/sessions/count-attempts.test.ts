import { beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { ATTEMPT_LIMITS, KNOWN_ADDRESS_TTL_MS, countAttempt } from './count-attempts.ts'
import { sweepSessionsJob } from './service.ts'

const PASSWORD = 'a good password'
let app: TestApp
beforeAll(async () => {
  app = await createTestApp()
})
// The window of earlier tests has passed.
beforeEach(() => app.clock.advance(ATTEMPT_LIMITS.windowMs))

const signIn = (username: string, password: string) =>
  app.request({ method: 'POST', url: '/api/v2/sessions', body: { username, password } })

/** Exhausts the attempts of all addresses together, from unknown networks. */
async function failEverywhere(account: string) {
  for (let index = 0; index < ATTEMPT_LIMITS.account / ATTEMPT_LIMITS.pair; index += 1)
    await fail(account, ATTEMPT_LIMITS.pair, `2001:db8:0:${index}::1`)
}

/** Counts attempts like sign-ins, without hashing. */
async function fail(account: string, times: number, address = '127.0.0.1') {
  const ctx = { ...app.as(), request: { id: 'test', address, userAgent: undefined } }
  for (let index = 0; index < times; index += 1) await countAttempt(ctx, account)
}

test('after too many wrong passwords the right one is rejected too, until the window has passed', async () => {
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

test('username and address share a counter, and the right password resets it', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, 'wrong')
  await signIn(user.email, 'wrong')
  await fail(user.id, ATTEMPT_LIMITS.pair - 3)

  expect((await signIn(user.email, PASSWORD)).status).toBe(201)
  await fail(user.id, ATTEMPT_LIMITS.pair)
  expect((await signIn(user.username, PASSWORD)).status).toBe(429)
})

test('an unknown username has the same limit', async () => {
  await fail('nobody', ATTEMPT_LIMITS.pair)

  expect((await signIn('NoBody', 'wrong')).status).toBe(429)
})

test('wrong passwords from another address do not lock the account, and many addresses together are limited', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await fail(user.id, ATTEMPT_LIMITS.pair, '203.0.113.1')

  await expect(fail(user.id, 1, '203.0.113.1')).rejects.toMatchObject({ kind: 'too-many-requests' })
  expect((await signIn(user.username, PASSWORD)).status).toBe(201)
  for (let index = 2; index <= ATTEMPT_LIMITS.account / ATTEMPT_LIMITS.pair; index += 1)
    await fail(user.id, ATTEMPT_LIMITS.pair, `203.0.113.${index}`)
  await expect(fail(user.id, 1, '198.51.100.1')).rejects.toMatchObject({ kind: 'too-many-requests' })
})

test('a known address is not affected by attempts elsewhere', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  await failEverywhere(user.id)

  expect((await signIn(user.username, PASSWORD)).status).toBe(201)
  await expect(fail(user.id, 1, '198.51.100.1')).rejects.toMatchObject({ kind: 'too-many-requests' })
})

test('a known address is not affected by attempts of others from there', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  for (let index = 0; index < ATTEMPT_LIMITS.address; index += 1) await fail(`other-${index}`, 1)

  expect((await signIn(user.username, PASSWORD)).status).toBe(201)
})

test('the limit of a known address is that of any other address', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  await fail(user.id, ATTEMPT_LIMITS.pair)

  expect((await signIn(user.username, PASSWORD)).status).toBe(429)
})

test('a known address expires', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await signIn(user.username, PASSWORD)
  app.clock.advance(KNOWN_ADDRESS_TTL_MS)
  await failEverywhere(user.id)

  expect((await signIn(user.username, PASSWORD)).status).toBe(429)
})

test('rejected attempts for one account do not count for others at the address', async () => {
  const user = await createUser(app, { password: PASSWORD })
  await fail('someone', ATTEMPT_LIMITS.pair)

  const more = Array.from({ length: ATTEMPT_LIMITS.address }, () => fail('someone', 1))
  await Promise.allSettled(more)

  expect((await signIn(user.username, PASSWORD)).status).toBe(201)
})

test('an exhausted address adds no counter for a new username', async () => {
  for (let index = 0; index < ATTEMPT_LIMITS.address; index += 1) await fail(`name-${index}`, 1)
  const before = await app.db.selectFrom('sign_in_attempts').select('key').execute()

  await expect(fail('another-name', 1)).rejects.toMatchObject({ kind: 'too-many-requests' })

  expect(await app.db.selectFrom('sign_in_attempts').select('key').execute()).toHaveLength(before.length)
})

test('one address cannot try many accounts, and does not block other addresses', async () => {
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

test('concurrent attempts do not exceed the limit', async () => {
  const results = await Promise.allSettled(Array.from({ length: ATTEMPT_LIMITS.pair + 5 }, () => fail('someone', 1)))

  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(ATTEMPT_LIMITS.pair)
})

test("behind a proxy the client's address counts; without one its claim is ignored", async () => {
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

test('outdated counters and known addresses are deleted', async () => {
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
