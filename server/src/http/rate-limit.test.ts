import { describe, expect, test } from 'vitest'
import { createTestApp, type TestResponse } from '../testing/app.ts'
import { createUser } from '../testing/factories.ts'
import { callerKey, createRateLimiter, rateLimit } from './rate-limit.ts'

describe('a bucket', () => {
  test('holds a second of requests and fills evenly', () => {
    const { take } = createRateLimiter(10)
    const start = 1_800_000_000_000

    const burst = Array.from({ length: 12 }, () => take('a', start))
    const later = [take('a', start + 100), take('a', start + 100), take('a', start + 10_000)]

    expect(burst.map(({ allowed }) => allowed)).toEqual([...Array<boolean>(10).fill(true), false, false])
    expect(burst.map(({ remaining }) => remaining)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0])
    expect(burst.at(-1)?.waitMs).toBeCloseTo(100)
    expect(later.map(({ allowed }) => allowed)).toEqual([true, false, true])
    expect(later.at(-1)?.remaining).toBe(9)
  })

  test('never gives more than its limit in any second', () => {
    const { take } = createRateLimiter(30)
    const allowed: number[] = []

    for (let now = 1_800_000_000_000; now < 1_800_000_005_000; now += 7) if (take('a', now).allowed) allowed.push(now)

    const inFirstSecond = allowed.filter((now) => now < 1_800_000_001_000).length
    const inLastSecond = allowed.filter((now) => now >= 1_800_000_004_000).length
    expect(inFirstSecond).toBeLessThanOrEqual(60)
    expect(inLastSecond).toBeGreaterThanOrEqual(29)
    expect(inLastSecond).toBeLessThanOrEqual(31)
  })

  test('still fills when the clock is set back', () => {
    const { take } = createRateLimiter(10)
    for (let n = 0; n < 10; n += 1) take('a', 2_000_000_000_000)

    take('a', 1_000_000_000_000)

    expect(take('a', 1_000_000_001_000).allowed).toBe(true)
  })

  test('belongs to a token, else to an address, IPv6 by its network', () => {
    const user = { kind: 'user', userId: 'u', username: 'u', isSiteAdmin: false, teamId: undefined } as const
    const anonymous = { kind: 'anonymous' } as const

    expect(callerKey({ ...user, tokenId: 'at-1' }, '1.2.3.4')).toBe('at-1')
    expect(callerKey({ ...user, tokenId: undefined, sessionId: 'ses-1' }, '1.2.3.4')).toBe('ses-1')
    expect(callerKey(anonymous, '1.2.3.4')).toBe(callerKey(anonymous, '::ffff:1.2.3.4'))
    expect(callerKey(anonymous, '2001:db8::1')).toBe(callerKey(anonymous, '2001:db8::ffff:2'))
    expect(callerKey(anonymous, '2001:db8::1')).not.toBe(callerKey(anonymous, '2001:db8:0:1::1'))
  })

  test('is on in the hosted edition, and off elsewhere', () => {
    expect(rateLimit({ edition: 'hosted', rateLimit: undefined })).toBe(30)
    expect(rateLimit({ edition: 'hosted', rateLimit: 0 })).toBe(0)
    expect(rateLimit({ edition: 'self-managed', rateLimit: undefined })).toBe(0)
    expect(rateLimit({ edition: 'self-managed', rateLimit: 5 })).toBe(5)
  })
})

describe('a server with a limit', async () => {
  const app = await createTestApp({ GROUNDSTATE_RATE_LIMIT: '3' })
  const [ann, bob] = [await createUser(app), await createUser(app)]

  // Real time would refill the buckets during the test.
  const moment = Date.now()
  let passed = 0
  app.now = () => new Date(moment + passed)

  const details = (token?: string) => app.request({ url: '/api/v2/account/details', token })

  test('rejects requests above the limit, per token', async () => {
    const first = await details(ann.token)
    await details(ann.token)
    await details(ann.token)
    const refused = await details(ann.token)
    const other = await details(bob.token)
    passed += 334
    const again = await details(ann.token)

    expect(limits(first)).toEqual({ limit: '3', remaining: '2', reset: '0.000' })
    expect(refused.status).toBe(429)
    expect(limits(refused)).toEqual({ limit: '3', remaining: '0', reset: '0.333' })
    expect(refused.headers['retry-after']).toBe('1')
    expect(refused.json().errors[0]).toMatchObject({ status: '429', title: 'too many requests' })
    expect(other.status).toBe(200)
    expect(again.status).toBe(200)
  })

  test('counts requests with invalid tokens by address', async () => {
    passed += 1000
    const guesses: number[] = []
    for (const guess of ['a', 'b', 'c', 'd']) guesses.push((await details(guess)).status)

    expect(guesses).toEqual([401, 401, 401, 429])
    expect((await details(ann.token)).status).toBe(200)
  })

  test('exempts agents, object URLs and probes', async () => {
    passed += 1000
    const urls = ['/api/agent/v1/jobs/job-x/configuration', '/_objects/logs/x', '/healthz']
    const responses = await Promise.all(urls.flatMap((url) => Array.from({ length: 5 }, () => app.request({ url }))))

    expect(responses.filter(({ status }) => status === 429)).toEqual([])
    expect(responses.filter(({ headers }) => 'x-ratelimit-limit' in headers)).toEqual([])
  })
})

function limits({ headers }: TestResponse) {
  return {
    limit: headers['x-ratelimit-limit'],
    remaining: headers['x-ratelimit-remaining'],
    reset: headers['x-ratelimit-reset'],
  }
}
