import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { readText } from '@groundstate/agent/settings/setting'

/** `no-verify` is a name that `pg` has for `require`. */
const SSL_MODES = new Set(['disable', 'require', 'no-verify', 'verify-ca', 'verify-full'])
const SSL_FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const

/** The parameters of an address of a database, and the rest of it. An empty host, with the socket's directory as a parameter, is no valid URL. */
function splitAddress(url: string) {
  const start = url.indexOf('?')
  const address = start === -1 ? url : url.slice(0, start)
  const parameters = new URLSearchParams(start === -1 ? '' : url.slice(start + 1))
  const { hostname } = new URL(address.replace('@/', '@socket/'))
  const host = parameters.get('host') ?? decodeURIComponent(hostname).replace(/^\[(.+)\]$/, '$1')
  return { address, parameters, host }
}

/** The reason why a text is no address of a database, or its parameters for TLS are invalid. */
export function databaseAddressProblem(url: string): string | undefined {
  const parameters = parametersOf(url)
  if (parameters === undefined) return 'it must be an address such as postgresql://user:password@host:5432/name'
  const mode = parameters.get('sslmode')
  if (mode !== null && !SSL_MODES.has(mode))
    return `its sslmode must be disable, require, verify-ca or verify-full, not ${JSON.stringify(mode)}`
  if (mode === 'verify-ca' && parameters.get('sslrootcert') === null)
    return 'sslmode=verify-ca needs sslrootcert=<PEM file>, as everyone can get a certificate of a public authority'
  if (mode !== null && mode !== 'verify-full' && parameters.get('sslrootcert') === 'system')
    return `sslrootcert=system needs sslmode=verify-full, not ${mode}: everyone can get a certificate of a public authority`
  for (const name of SSL_FILES) {
    const path = parameters.get(name)
    if (path === null || (name === 'sslrootcert' && path === 'system')) continue
    try {
      readText(`${name}=${path}`, path)
    } catch (error) {
      return (error as Error).message
    }
  }
  return undefined
}

/** The parameters of an address of a database; undefined if it is none. */
function parametersOf(url: string) {
  try {
    return /^postgres(ql)?:\/\//.test(url) ? splitAddress(url).parameters : undefined
  } catch {
    return undefined
  }
}

/**
 * Options of `pg` for the database at `url`. Its `sslmode` has the meaning that it has for libpq, which `pg` gives it only from its next major
 * version: `require` encrypts, `verify-ca` also verifies the authority of the certificate, and `verify-full` the name of the host. An address
 * with `sslrootcert` alone is verified fully.
 */
export function connectionOptions(url: string): { connectionString: string; ssl?: boolean | ConnectionOptions } {
  const { address, parameters, host } = splitAddress(url)
  const [mode, ...files] = ['sslmode', ...SSL_FILES].map((name) => parameters.get(name))
  if (mode === null && files.every((file) => file === null)) return { connectionString: url }
  for (const name of ['sslmode', 'ssl', 'uselibpqcompat', ...SSL_FILES]) parameters.delete(name)
  // `pg` would turn TLS on in its own way.
  const negotiation = parameters.get('sslnegotiation')
  parameters.delete('sslnegotiation')
  const connectionString = `${address}?${parameters.toString()}`
  // Like libpq, no TLS through a socket of the file system.
  if (mode === 'disable' || host.startsWith('/')) return { connectionString, ssl: false }
  const [ca, cert, key] = files.map((file) => (file === null || file === 'system' ? undefined : readFileSync(file)))
  const isVerified = ca !== undefined || !(mode === 'require' || mode === 'no-verify')
  const isNamed = mode === 'verify-full' || mode === null
  const ssl: ConnectionOptions = {
    // Otherwise the certificate of an IP address would have to name `localhost`.
    host,
    rejectUnauthorized: isVerified,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(!isNamed && { checkServerIdentity: () => undefined }),
  }
  return { connectionString, ssl, ...(negotiation !== null && { sslnegotiation: negotiation }) }
}
