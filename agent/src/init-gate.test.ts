import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createInitGate } from './init-gate.ts'

const { signal } = new AbortController()

/** Passes a gate with inits that end with these codes, one after the other; answers which of them were alone. */
async function passAll(codes: readonly (number | null)[]) {
  const gate = createInitGate()
  const alone: boolean[] = []
  for (const code of codes)
    await gate.pass('providers', signal, async (isAlone) => {
      alone.push(isAlone)
      return code
    })
  return alone
}

test('what an init has installed is not installed again, and the next one need not be alone', async () => {
  expect(await passAll([0, 0])).toEqual([true, false])
})

test('after an init that failed or was killed, the next one is alone again', async () => {
  expect(await passAll([1, null, 0, 0])).toEqual([true, true, true, false])
})

test('inits that begin together after one has failed do not write side by side', async () => {
  const gate = createInitGate()
  let [atWork, most] = [0, 0]
  const init = async () => {
    most = Math.max(most, (atWork += 1))
    await delay(5)
    atWork -= 1
    return 1
  }

  await Promise.all([init, init, init].map((one) => gate.pass('providers', signal, one)))

  expect(most).toBe(1)
})
