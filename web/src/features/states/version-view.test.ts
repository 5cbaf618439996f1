import { expect, test } from 'vitest'
import { resourceRows } from './version-view.tsx'

const provider = 'provider["registry.terraform.io/hashicorp/aws"]'
const RESOURCES = [
  { name: 'b', type: 'aws_subnet', count: 2, tainted: 1, module: 'module.net', provider },
  { name: 'z', type: 'aws_vpc', count: 1, module: 'root', provider },
  { name: 'a', type: 'aws_subnet', count: 1, module: 'root', provider },
]

function shown(q: string) {
  return resourceRows(RESOURCES, q).map((row) => (row.kind === 'module' ? row.module : row.item.address))
}

test('resources are sorted by address within their modules, the root module first', () => {
  expect(shown('')).toEqual(['root', 'aws_subnet.a', 'aws_vpc.z', 'module.net', 'aws_subnet.b'])
})

test('a search matches the full address with its module', () => {
  expect(shown('module.net.aws_subnet.B')).toEqual(['module.net', 'aws_subnet.b'])
  expect(shown('gcp')).toEqual([])
})

test('a provider is shown with its source address', () => {
  expect(resourceRows(RESOURCES, 'vpc')[1]).toMatchObject({ item: { provider: 'registry.terraform.io/hashicorp/aws' } })
})

test('the number of tainted instances defaults to 0', () => {
  const rows = resourceRows(RESOURCES, 'subnet').filter((row) => row.kind === 'item')

  expect(rows.map(({ item }) => item.tainted)).toEqual([0, 1])
})
