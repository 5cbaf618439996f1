import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { BlockList, type LookupFunction, isIP } from 'node:net'

/** Addresses of cloud metadata services, which serve the machine's credentials, and all link-local ones. All other addresses are left to the firewall. */
const CLOSED = new BlockList()
CLOSED.addSubnet('169.254.0.0', 16, 'ipv4')
CLOSED.addSubnet('fe80::', 10, 'ipv6')
// NAT64 form of the first one.
CLOSED.addSubnet('64:ff9b::a9fe:0', 112, 'ipv6')
CLOSED.addAddress('fd00:ec2::254', 'ipv6')
CLOSED.addAddress('100.100.100.200', 'ipv4')
CLOSED.addAddress('168.63.129.16', 'ipv4')

/** Why the agent does not call an http or https URL, as far as known without a DNS lookup. */
export function targetProblem(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return 'the agent calls http and https URLs only'
  return addressProblem(url.hostname.replace(/^\[(.+)\]$/, '$1'))
}

/** Resolves a name to permitted addresses. The connection uses the result, so it cannot change in between. */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error) return callback(error, [])
    const problem = addresses.map(({ address }) => addressProblem(address)).find((reason) => reason !== undefined)
    if (problem !== undefined) return callback(new Error(`${hostname} resolves to a blocked address: ${problem}`), [])
    const [first] = addresses
    if (options.all || !first) return callback(null, addresses)
    return callback(null, first.address, first.family)
  })
}

/** The addresses of a host name or address. Throws if the agent may not connect to them. */
export async function permittedAddresses(hostname: string): Promise<string[]> {
  const addresses = (await lookup(hostname, { all: true })).map(({ address }) => address)
  const problem = addresses.map((address) => addressProblem(address)).find((reason) => reason !== undefined)
  if (problem !== undefined) throw new Error(problem)
  return addresses
}

function addressProblem(address: string): string | undefined {
  const version = isIP(address)
  if (version === 0 || !CLOSED.check(address, version === 6 ? 'ipv6' : 'ipv4')) return undefined
  return `${address} is a link-local or metadata address, which the agent never calls`
}
