import ipaddr from 'ipaddr.js'

/** Whether requests may also go to private and loopback addresses. */
export type AddressRule = { allowPrivate: boolean }

/** Names of the other ranges. */
const SPECIAL: Readonly<Record<string, string>> = {
  linkLocal: 'a link-local address',
  multicast: 'a multicast address',
  broadcast: 'a broadcast address',
  unspecified: 'the address of no host',
  reserved: 'a reserved address',
  metadata: 'where a cloud serves the credentials of a machine',
}

/** The ranges of private networks and of this machine. */
const PRIVATE = new Set<string>(['private', 'uniqueLocal', 'loopback', 'carrierGradeNat'])

/** Metadata addresses of clouds other than the link-local ones: those of AWS, Alibaba and Azure. */
const METADATA = new Set(['fd00:ec2::254', '100.100.100.200', '168.63.129.16'])

/** As `addressProblem`, for a text that follows the words "is" or "resolves to". */
export function addressFault(address: string, rule: AddressRule): string | undefined {
  if (!ipaddr.isValid(address)) return 'no address'
  const parsed = ipaddr.process(address)
  const range = METADATA.has(parsed.toString()) ? 'metadata' : rangeOf(parsed)
  if (range === 'unicast') return undefined
  if (PRIVATE.has(range)) {
    if (rule.allowPrivate) return undefined
    return `a ${range === 'loopback' ? 'loopback' : 'private'} address, which this server may not call: GROUNDSTATE_ALLOW_PRIVATE_URLS=true allows it`
  }
  return `${SPECIAL[range] ?? 'an address for special use'}, and no request may go there`
}

/**
 * Why no connection may go to the address; undefined when it may. An IPv4 address inside an IPv6 address is checked as
 * IPv4. Link-local addresses are always refused, since clouds serve credentials there.
 */
export function addressProblem(address: string, rule: AddressRule): string | undefined {
  const fault = addressFault(address, rule)
  return fault === undefined ? undefined : `${address} is ${fault}`
}

/** The internet has 2000::/3 of the IPv6 addresses. The library takes all for such that no other range has. */
function rangeOf(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  const range = address.range()
  const isOutside = address instanceof ipaddr.IPv6 && (address.parts[0] ?? 0) >> 13 !== 1
  return range === 'unicast' && isOutside ? 'reserved' : range
}
