import { zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { packInstances, unpackInstances } from './packed-instances.ts'

function instances(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    address: `null_resource.item[${index}]`,
    name: 'item',
    type: 'null_resource',
    module: 'root',
    provider: 'hashicorp/null',
    nameIndex: String(index),
    tainted: index === 0,
  }))
}

test.each([1, 15, 1000])('a list of %i instances comes back as it was', (count) => {
  const list = instances(count)

  const packed = packInstances(list)

  expect(packed && unpackInstances(packed)).toEqual(list)
})

test('a long list is kept compressed, an empty one not at all', () => {
  expect(packInstances(instances(1000))?.length).toBeLessThan(JSON.stringify(instances(1000)).length / 10)
  expect(packInstances([])).toBeNull()
})

test('a short list that was kept compressed is read too', () => {
  const list = instances(1)

  expect(unpackInstances(zstdCompressSync(JSON.stringify(list)))).toEqual(list)
})
