import { expect, test } from 'vitest'
import { createDatabaseClock } from './clock.ts'
import { createTestApp } from './testing/app.ts'

const app = await createTestApp()

test('a server with a wrong clock uses the time of the database and logs a warning', async () => {
  const warnings: unknown[] = []
  const log = { warn: (facts: object) => void warnings.push(facts) }

  await using clock = await createDatabaseClock(app.db, log, () => Date.now() - 3_600_000)

  expect(Math.abs(clock.now().getTime() - Date.now())).toBeLessThan(2_000)
  expect(warnings).toEqual([{ offsetMs: expect.closeTo(3_600_000, -4) }])
})

test('two servers with different clocks have the same time', async () => {
  const log = { warn: () => {} }
  await using fast = await createDatabaseClock(app.db, log, () => Date.now() + 60_000)
  await using slow = await createDatabaseClock(app.db, log, () => Date.now() - 60_000)

  expect(Math.abs(fast.now().getTime() - slow.now().getTime())).toBeLessThan(2_000)
})

test('a correct clock is not adjusted', async () => {
  const warnings: unknown[] = []
  const log = { warn: (facts: object) => void warnings.push(facts) }
  let ownMs = Date.now()

  await using clock = await createDatabaseClock(app.db, log, () => (ownMs = Date.now()))

  expect(warnings).toEqual([])
  expect(clock.now().getTime()).toBe(ownMs)
})

test('a clock that was set is measured again immediately', async () => {
  let setByMs = 0
  await using clock = await createDatabaseClock(app.db, { warn: () => {} }, () => Date.now() + setByMs)

  setByMs = 600_000

  const distance = () => Math.abs(clock.now().getTime() - Date.now())
  await expect.poll(distance, { timeout: 10_000 }).toBeLessThan(2_000)
})
