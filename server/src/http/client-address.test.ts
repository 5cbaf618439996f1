import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'

/**
 * The statuses of three requests with this header and one of another client, with a limit of two a second per address.
 */
async function statuses(settings: Record<string, string>, forwarded: string) {
  const app = await createTestApp({ GROUNDSTATE_RATE_LIMIT: '2', ...settings })
  const statusFor = async (address: string) =>
    (await app.request({ url: '/api/v2/account/details', headers: { 'x-forwarded-for': address } })).status
  return [
    await statusFor(forwarded),
    await statusFor(forwarded),
    await statusFor(forwarded),
    await statusFor('203.0.113.99'),
  ]
}

test('a client cannot choose its address', async () => {
  expect(await statuses({}, '203.0.113.7')).toEqual([401, 401, 429, 429])
})

test('the client address comes from a trusted proxy', async () => {
  expect(await statuses({ GROUNDSTATE_TRUST_PROXY: 'loopback' }, '203.0.113.7')).toEqual([401, 401, 429, 401])
})

test('addresses added by the client are ignored', async () => {
  const trust = { GROUNDSTATE_TRUST_PROXY: 'loopback,10.0.0.0/8' }

  expect(await statuses(trust, '198.51.100.1, 203.0.113.99, 10.1.2.3')).toEqual([401, 401, 429, 429])
})
