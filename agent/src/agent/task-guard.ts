import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { BlockList, type LookupFunction, isIP } from 'node:net'

/**
 * Link-local addresses and other addresses of cloud metadata services, which serve the credentials of a machine, are never
 * called. Restricting the rest is up to the network.
 */
const CLOSED = new BlockList()
CLOSED.addSubnet('169.254.0.0', 16, 'ipv4')
CLOSED.addSubnet('fe80::', 10, 'ipv6')
// The first one, as NAT64 writes it.
CLOSED.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')
CLOSED.addAddress('fd00:ec2::254', 'ipv6')
CLOSED.addAddress('100.100.100.200', 'ipv4')
CLOSED.addAddress('168.63.129.16', 'ipv4')

/** Why the agent does not send a request to the URL; undefined when it does. */
export function targetProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return 'the agent calls http and https URLs only'
  return addressProblem(url.hostname.replace(/^\[(.+)\]$/, '$1'))
}

/** Resolves a name to permitted addresses. The connection uses the result, so it can't change in between. */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error) return callback(error, [])
    const problem = addresses.map(({ address }) => addressProblem(address)).find((found) => found !== undefined)
    if (problem !== undefined) return callback(new Error(`${hostname} resolves to a closed address: ${problem}`), [])
    const [first] = addresses
    if (options.all || !first) return callback(null, addresses)
    return callback(null, first.address, first.family)
  })
}

function addressProblem(address: string): string | undefined {
  const version = isIP(address)
  if (version === 0 || !CLOSED.check(address, version === 6 ? 'ipv6' : 'ipv4')) return undefined
  return `${address} is a link-local or metadata address, which the agent never calls`
}
