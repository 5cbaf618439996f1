import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Whether requests may also go to private and loopback addresses. */
export type AddressRule = { allowPrivate: boolean }

/** Descriptions of ranges that are never allowed. */
const SPECIAL: Readonly<Record<string, string>> = {
  linkLocal: 'a link-local address',
  multicast: 'a multicast address',
  broadcast: 'a broadcast address',
  unspecified: 'the address of no host',
  reserved: 'a reserved address',
  metadata: 'a metadata address, at which a cloud serves credentials',
}

const PRIVATE = new Set<string>(['private', 'uniqueLocal', 'loopback', 'carrierGradeNat'])

/** Metadata addresses of AWS, Alibaba and Azure that are not link-local. */
const METADATA = new Set(['fd00:ec2::254', '100.100.100.200', '168.63.129.16'])

/** Like `addressProblem`, as a text that follows "is" or "resolves to". */
export function addressFault(address: string, rule: AddressRule): string | undefined {
  if (!ipaddr.isValid(address)) return 'not an IP address'
  const parsed = ipaddr.process(address)
  const range = METADATA.has(parsed.toString()) ? 'metadata' : rangeOf(parsed)
  if (range === 'unicast') return undefined
  if (PRIVATE.has(range)) {
    if (rule.allowPrivate) return undefined
    return `a ${range === 'loopback' ? 'loopback' : 'private'} address, which this server may not call: GROUNDSTATE_ALLOW_PRIVATE_URLS=true allows it`
  }
  return `${SPECIAL[range] ?? 'an address for special use'}, and requests there are not allowed`
}

/**
 * Reason why no connection may go to the address; undefined if one may. An IPv4 address mapped to IPv6 is checked as IPv4. Link-local
 * addresses are always rejected, since clouds serve credentials there.
 */
export function addressProblem(address: string, rule: AddressRule): string | undefined {
  const fault = addressFault(address, rule)
  return fault === undefined ? undefined : `${address} is ${fault}`
}

/** The public internet uses 2000::/3 of the IPv6 addresses; the library counts all unassigned ones as unicast. */
function rangeOf(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  const range = address.range()
  const isOutside = address instanceof ipaddr.IPv6 && (address.parts[0] ?? 0) >> 13 !== 1
  return range === 'unicast' && isOutside ? 'reserved' : range
}

/** Removes the brackets of an IPv6 address. */
export function unbracketed(hostname: string) {
  return hostname.replace(/^\[(.+)\]$/, '$1')
}

/**
 * Reason why no request may go to the URL, as far as known without a DNS lookup; undefined if one may. On the public internet, only ports 80,
 * 443 and those from 1024 up are allowed.
 */
export function urlProblem(text: string, rule: AddressRule): string | undefined {
  const url = URL.parse(text)
  if (!url) return `${JSON.stringify(text)} is not a URL`
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    const start = url.href.startsWith(`${url.protocol}//`) ? `${url.protocol}//` : url.protocol
    return `the URL begins with ${start}; it must begin with https:// or http://`
  }
  if (url.username !== '' || url.password !== '') return 'the URL must not contain a user name or password'
  const port = url.port === '' ? undefined : Number(url.port)
  if (port === 0) return 'port 0 cannot be used'
  if (!rule.allowPrivate && port !== undefined && port < 1024 && port !== 80 && port !== 443) {
    return `port ${port} is not allowed, only 80, 443 and those from 1024 up`
  }
  const host = unbracketed(url.hostname)
  return isIP(host) === 0 ? undefined : addressProblem(host, rule)
}
