import ipaddr from 'ipaddr.js'

/** Whether requests may also go to private and loopback addresses. */
export type AddressRule = { allowPrivate: boolean }

/** What the other ranges are called. */
const SPECIAL: Readonly<Record<string, string>> = {
  linkLocal: 'a link-local address',
  multicast: 'a multicast address',
  broadcast: 'a broadcast address',
  unspecified: 'the address of no host',
  reserved: 'a reserved address',
}

/** The ranges of private networks and of this machine. */
const PRIVATE = new Set<string>(['private', 'uniqueLocal', 'loopback', 'carrierGradeNat'])

/**
 * Why no connection may go to the address; undefined when it may. An IPv4 address inside an IPv6 address is checked as
 * IPv4. Link-local addresses are always refused, since clouds serve credentials there.
 */
export function addressProblem(address: string, rule: AddressRule): string | undefined {
  if (!ipaddr.isValid(address)) return `${address} is no address`
  const range = ipaddr.process(address).range()
  if (range === 'unicast') return undefined
  if (PRIVATE.has(range)) {
    if (rule.allowPrivate) return undefined
    return `${address} is a ${range === 'loopback' ? 'loopback' : 'private'} address, which this server may not call: GROUNDSTATE_ALLOW_PRIVATE_URLS=true allows it`
  }
  return `${address} is ${SPECIAL[range] ?? 'an address for special use'}, and no request may go there`
}
