import ipaddr from 'ipaddr.js'

/** Whether requests may leave for private and loopback addresses too. */
export type AddressRule = { allowPrivate: boolean }

/** What private networks and this very machine use. */
const PRIVATE = new Set<string>(['private', 'uniqueLocal', 'loopback', 'carrierGradeNat'])

/**
 * Why no connection may be made to the address, or undefined when it may. An IPv4 address inside an IPv6 one counts as
 * itself. Link-local addresses are closed always: clouds hand out credentials there.
 */
export function addressProblem(address: string, rule: AddressRule): string | undefined {
  if (!ipaddr.isValid(address)) return `${address} is no address`
  const range = ipaddr.process(address).range()
  if (range === 'unicast') return undefined
  if (PRIVATE.has(range)) {
    if (rule.allowPrivate) return undefined
    return `${address} is a ${range === 'loopback' ? 'loopback' : 'private'} address, which this server may not call: GROUNDSTATE_ALLOW_PRIVATE_URLS=true allows it`
  }
  return `${address} is not an address that requests may go to (${range})`
}
