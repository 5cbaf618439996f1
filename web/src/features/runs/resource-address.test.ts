import { expect, test } from 'vitest'
import { engineAddress } from './resource-address.ts'

test.each([
  { address: 'aws_subnet.a', module: 'root', is: 'aws_subnet.a' },
  { address: 'net.aws_subnet.a[0]', module: 'net', is: 'module.net.aws_subnet.a[0]' },
  { address: 'net.deep.aws_subnet.a', module: 'net.deep', is: 'module.net.module.deep.aws_subnet.a' },
  { address: 'net["a.b"].aws_subnet.a', module: 'net["a.b"]', is: 'module.net["a.b"].aws_subnet.a' },
  {
    address: 'net[0].deep["x"].aws_subnet.a',
    module: 'net[0].deep["x"]',
    is: 'module.net[0].module.deep["x"].aws_subnet.a',
  },
])('$address of the module $module is $is for the engine', ({ is, ...resource }) => {
  expect(engineAddress(resource)).toBe(is)
})
