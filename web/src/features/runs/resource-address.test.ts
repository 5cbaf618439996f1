import { expect, test } from 'vitest'
import { engineAddress } from './resource-address.ts'

test.each([
  { address: 'aws_subnet.a', module: 'root', expected: 'aws_subnet.a' },
  { address: 'net.aws_subnet.a[0]', module: 'net', expected: 'module.net.aws_subnet.a[0]' },
  { address: 'net.deep.aws_subnet.a', module: 'net.deep', expected: 'module.net.module.deep.aws_subnet.a' },
  { address: 'net["a.b"].aws_subnet.a', module: 'net["a.b"]', expected: 'module.net["a.b"].aws_subnet.a' },
  {
    address: 'net[0].deep["x"].aws_subnet.a',
    module: 'net[0].deep["x"]',
    expected: 'module.net[0].module.deep["x"].aws_subnet.a',
  },
])('the engine address of $address in module $module is $expected', ({ expected, ...resource }) => {
  expect(engineAddress(resource)).toBe(expected)
})
