import { describe, expect, test } from 'vitest'
import { readTag, readTags, taggedParams, tagText } from './tag-filter.ts'

describe('tags in an address', () => {
  test.each([
    { key: 'kafka', value: '' },
    { key: 'env', value: 'prod' },
    { key: 'env', value: 'a=b' },
    { key: 'a=b', value: 'c' },
    { key: 'a=b', value: '' },
  ])('$key with the value "$value" is read as it was written', (tag) => {
    expect(readTag(tagText(tag))).toEqual(tag)
  })

  test('several are separated by commas, and empty ones are left out', () => {
    expect(readTags('env=prod,,kafka')).toEqual([
      { key: 'env', value: 'prod' },
      { key: 'kafka', value: '' },
    ])
    expect(readTags(undefined)).toEqual([])
  })

  test('each is asked for by key and value', () => {
    expect(taggedParams(readTags('env=prod,kafka'))).toEqual({
      'filter[tagged][0][key]': 'env',
      'filter[tagged][0][value]': 'prod',
      'filter[tagged][1][key]': 'kafka',
      'filter[tagged][1][value]': '',
    })
  })
})
