import { expect, test } from 'vitest'
import { addressesIn } from './addresses.ts'

test('a list copied from a mail client has the addresses in angle brackets', () => {
  const { emails, invalid } = addressesIn(
    'Ada Lovelace <ada@example.com>, "Max, M." <max@example.com>; "A \\"B\\", C"<c@example.com>',
  )

  expect(emails).toEqual(['ada@example.com', 'max@example.com', 'c@example.com'])
  expect(invalid).toEqual([])
})

test('typed addresses are separated by commas, semicolons, lines or spaces, and each counts once', () => {
  const { emails, invalid } = addressesIn(
    'a@example.com b@example.com,\nc@example.com;A@Example.com <d@example.com>\n\n',
  )

  expect(emails).toEqual(['a@example.com', 'b@example.com', 'c@example.com', 'd@example.com'])
  expect(invalid).toEqual([])
})

test('all parts that are no address are listed', () => {
  const { emails, invalid } = addressesIn('ada, Max M <max@>, eve@example.com bob@, "Lost, L.", <f@example.com')

  expect(emails).toEqual(['eve@example.com'])
  expect(invalid).toEqual(['ada', 'Max M <max@>', 'bob@', '"Lost, L."', '<f@example.com'])
})
