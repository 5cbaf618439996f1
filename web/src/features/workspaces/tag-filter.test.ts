import { tagBindingsBody } from '@groundstate/contract/tags'
import { describe, expect, test } from 'vitest'
import { readTag, readTags, taggedParams, tagLinkage, tagProblem, tagText } from './tag-filter.ts'

describe('tags in a URL', () => {
  test.each([
    { key: 'kafka', value: '' },
    { key: 'env', value: 'prod' },
    { key: 'env', value: 'a=b' },
    { key: 'a=b', value: 'c' },
    { key: 'a=b', value: '' },
  ])('$key with the value "$value" is read as it was written', (tag) => {
    expect(readTag(tagText(tag))).toEqual(tag)
  })

  test('tags are separated by commas, and empty ones are skipped', () => {
    expect(readTags('env=prod,,kafka')).toEqual([
      { key: 'env', value: 'prod' },
      { key: 'kafka', value: '' },
    ])
    expect(readTags(undefined)).toEqual([])
  })

  test('each tag filters by key and value', () => {
    expect(taggedParams(readTags('env=prod,kafka'))).toEqual({
      'filter[tagged][0][key]': 'env',
      'filter[tagged][0][value]': 'prod',
      'filter[tagged][1][key]': 'kafka',
      'filter[tagged][1][value]': '',
    })
  })
})

test.each(['', 'kafka', 'bad key!', 'größe=ä b', 'env=prod,test', 'a%3Db=1', 'k'.repeat(256), `k=${'v'.repeat(256)}`])(
  'the tag %j has a problem if the contract refuses it',
  (text) => {
    const tag = readTag(text)

    const { success } = tagBindingsBody.safeParse({ data: [tagLinkage(tag)] })

    expect(tagProblem(tag) === undefined).toBe(success)
  },
)
