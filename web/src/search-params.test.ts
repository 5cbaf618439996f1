import { expect, test } from 'vitest'
import { searchParams } from './search-params.ts'

const read = searchParams({ q: 'text', page: 'number', new: 'flag' })

test.each([
  { search: { q: 'kafka', page: 2, new: true }, is: { q: 'kafka', page: 2, new: true } },
  { search: { q: 123, page: '3', new: 'true' }, is: { q: '123', page: 3, new: true } },
  { search: { q: '', page: 'x', new: false, other: 1 }, is: {} },
  { search: { q: { a: 1 }, page: -1 }, is: {} },
])('$search is read as $is', ({ search, is }) => {
  expect(read(search)).toEqual(is)
})
