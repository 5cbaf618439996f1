import { expect, test } from 'vitest'
import { changesOf, draftOf } from './variable-form.tsx'

const initial = { ...draftOf(undefined), key: 'size', value: 'small' }

test('only what was changed is sent, so that the changes of others stay', () => {
  expect(changesOf({ ...initial, description: 'Of the nodes' }, initial)).toEqual({ description: 'Of the nodes' })
  expect(changesOf({ ...initial, value: '' }, initial)).toEqual({ value: '' })
})

test('a sensitive value that is left empty is not sent', () => {
  const sensitive = { ...initial, value: '', sensitive: true }

  expect(changesOf({ ...sensitive, key: 'password' }, sensitive)).toEqual({ key: 'password' })
})
