import { expect, test } from 'vitest'
import { changesOf } from '../../components/settings-form.tsx'
import { draftOf } from './variable-form.tsx'

const initial = { ...draftOf(undefined), key: 'size', value: 'small' }

test('only edited attributes are sent, so that changes by other users remain', () => {
  expect(changesOf({ ...initial, description: 'Of the nodes' }, initial)).toEqual({ description: 'Of the nodes' })
  expect(changesOf({ ...initial, value: '' }, initial)).toEqual({ value: '' })
})

test('an empty sensitive value is not sent', () => {
  const sensitive = { ...initial, value: '', sensitive: true }

  expect(changesOf({ ...sensitive, key: 'password' }, sensitive)).toEqual({ key: 'password' })
})
