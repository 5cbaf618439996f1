import { lookup as systemLookup, type LookupAddress, type LookupAllOptions, type LookupOptions } from 'node:dns'
import { isIP } from 'node:net'
import { buildConnector } from 'undici'
import { type AddressRule, addressFault, addressProblem, unbracketed } from './addresses.ts'

/** The request was not sent because its address is forbidden. */
export class ForbiddenAddressError extends Error {
  override name = 'ForbiddenAddressError'
}

/** Resolves a name to all its addresses. */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void

/** The addresses of a name or address, for a program that connects to them itself. Throws a `ForbiddenAddressError`, and errors of DNS. */
export async function allowedAddresses(hostname: string, rule: AddressRule, resolve: Resolve = systemLookup) {
  const literal = unbracketed(hostname)
  const problem = isIP(literal) === 0 ? undefined : addressProblem(literal, rule)
  if (problem !== undefined) throw new ForbiddenAddressError(problem)
  if (isIP(literal) !== 0) return [literal]
  const { promise, resolve: found, reject } = Promise.withResolvers<string[]>()
  resolve(hostname, { all: true }, (error, addresses) => {
    const fault = addresses?.map(({ address }) => addressFault(address, rule)).find((each) => each !== undefined)
    if (error) reject(error)
    else if (fault !== undefined) reject(new ForbiddenAddressError(`it resolves to ${fault}`))
    else found(addresses.map(({ address }) => address))
  })
  return promise
}

/**
 * Connects only to addresses that `rule` allows. They are checked when the connection resolves the name, so a name cannot change between
 * check and use.
 */
export function guardedConnector(
  rule: AddressRule,
  options: { ca?: string[]; timeoutMs: number; resolve?: Resolve | undefined },
): buildConnector.connector {
  const resolve = options.resolve ?? systemLookup
  const lookup = (hostname: string, lookupOptions: LookupOptions, callback: LookupCallback) => {
    resolve(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const fault = addresses.map(({ address }) => addressFault(address, rule)).find((found) => found !== undefined)
      // The address is not disclosed, since it may be internal to a network.
      if (fault !== undefined) return callback(new ForbiddenAddressError(`${hostname} resolves to ${fault}`), [])
      const [first] = addresses
      if (lookupOptions.all || !first) return callback(null, addresses)
      return callback(null, first.address, first.family)
    })
  }
  const connect = buildConnector({
    timeout: options.timeoutMs,
    allowH2: false,
    lookup,
    ...(options.ca && { ca: options.ca }),
  })
  return (target, callback) => {
    // There is no lookup for an IP address.
    const literal = unbracketed(target.hostname)
    const problem = isIP(literal) === 0 ? undefined : addressProblem(literal, rule)
    if (problem !== undefined) return callback(new ForbiddenAddressError(problem), null)
    return connect(target, callback)
  }
}
