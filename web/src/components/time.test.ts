import { expect, test } from 'vitest'
import { exactTime, withLocalTimes } from './time.tsx'

test('the times in a text of the server are shown like others', () => {
  const at = '2026-11-26T19:01:15.800Z'

  expect(withLocalTimes(`not reached since ${at}: refused`)).toBe(`not reached since ${exactTime(at)}: refused`)
})
