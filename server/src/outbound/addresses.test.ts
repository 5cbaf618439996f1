import { describe, expect, test } from 'vitest'
import { addressProblem, urlProblem } from './addresses.ts'

const open = { allowPrivate: false }
const inside = { allowPrivate: true }

describe('addresses', () => {
  test.each(['1.1.1.1', '2606:4700:4700::1111', '::ffff:8.8.8.8'])('%s is on the internet', (address) => {
    expect(addressProblem(address, open)).toBeUndefined()
  })

  test.each(['127.0.0.1', '10.1.2.3', '192.168.0.1', '172.16.0.1', '100.64.0.1', '::1', 'fd00::1', '::ffff:10.0.0.1'])(
    '%s requires the permission for private addresses',
    (address) => {
      expect(addressProblem(address, open)).toContain('GROUNDSTATE_ALLOW_PRIVATE_URLS')
      expect(addressProblem(address, inside)).toBeUndefined()
    },
  )

  test.each([
    '169.254.169.254',
    'fe80::1',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    'ff02::1',
    '255.255.255.255',
    '64:ff9b::a00:1',
    '::7f00:1',
    '2002:7f00:1::',
    'fec0::1',
    '::ffff:169.254.169.254',
    'fd00:ec2::254',
    '100.100.100.200',
    '168.63.129.16',
  ])('%s is always blocked', (address) => {
    expect(addressProblem(address, inside)).toBeDefined()
  })
})

describe('URLs', () => {
  test.each(['https://receiver.example/task', 'http://receiver.example:8080/', 'https://[2606:4700:4700::1111]/'])(
    '%s may be called',
    (url) => {
      expect(urlProblem(url, open)).toBeUndefined()
    },
  )

  test.each([
    ['ftp://receiver.example/', 'https:// or http://'],
    ['file:///etc/passwd', 'https:// or http://'],
    ['receiver.example', 'is not a URL'],
    ['https://user:password@receiver.example/', 'user name'],
    ['http://receiver.example:25/', 'port 25'],
    ['http://receiver.example:0/', 'port 0'],
    ['http://127.0.0.1/', 'loopback'],
    ['http://[::1]:8080/', 'loopback'],
    ['http://2130706433/', 'loopback'],
    ['http://0x7f.1/', 'loopback'],
    ['http://0177.0.0.1/', 'loopback'],
    ['http://0/', 'no host'],
    ['http://[::]/', 'no host'],
    ['http://127.0.0.1.:8080/', 'loopback'],
    ['http://[::ffff:127.0.0.1]/', 'loopback'],
  ])('%s may not be called', (url, why) => {
    expect(urlProblem(url, open)).toContain(why)
  })
})
