import { X509Certificate, createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { readText } from '@groundstate/agent/settings/setting'

/** `no-verify` is a name that `pg` has for `require`. */
const SSL_MODES = new Set(['disable', 'require', 'no-verify', 'verify-ca', 'verify-full'])
const SSL_FILES = ['sslrootcert', 'sslcert', 'sslkey'] as const

/**
 * Parameters of libpq (https://www.postgresql.org/docs/18/libpq-connect.html) but those that secure the connection in a way that `pg` lacks, and then those
 * that only `pg` has.
 */
const PARAMETERS = new Set(
  `host hostaddr port dbname user password passfile channel_binding connect_timeout client_encoding options application_name
  fallback_application_name keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout replication gssencmode sslmode
  requiressl sslnegotiation sslcompression sslcert sslkey sslkeylogfile sslcertmode sslrootcert sslsni krbsrvname gsslib gssdelegation scram_client_key
  scram_server_key service servicefile target_session_attrs load_balance_hosts oauth_issuer oauth_client_id oauth_client_secret oauth_scope
  ssl uselibpqcompat statement_timeout lock_timeout idle_in_transaction_session_timeout query_timeout binary keepAlive
  keepAliveInitialDelayMillis connectionTimeoutMillis enableChannelBinding`.split(/\s+/),
)

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
  if (parameters === undefined) return NO_ADDRESS
  const names = [...parameters.keys()]
  const unknown = names.find((name) => !PARAMETERS.has(name))
  if (unknown !== undefined) {
    // It may be a part of a password with a question mark.
    if (/\?.*@/s.test(url)) return NO_ADDRESS
    return `its parameter ${JSON.stringify(unknown)} is not supported; those for TLS are sslmode, ${SSL_FILES.join(', ')}`
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) return `it has ${repeated} twice`
  const mode = parameters.get('sslmode')
  if (mode !== null && !SSL_MODES.has(mode))
    return `its sslmode must be disable, require, verify-ca or verify-full, not ${JSON.stringify(mode)}`
  if (mode === 'verify-ca' && parameters.get('sslrootcert') === null)
    return 'sslmode=verify-ca needs sslrootcert=<PEM file>, as everyone can get a certificate of a public authority'
  if (mode !== null && mode !== 'verify-full' && parameters.get('sslrootcert') === 'system')
    return `sslrootcert=system needs sslmode=verify-full, not ${mode}: everyone can get a certificate of a public authority`
  if (mode === 'disable') {
    const contrary = [...SSL_FILES, 'sslnegotiation', 'ssl'].find((name) => isOn(parameters.get(name)))
    if (contrary !== undefined)
      return `${contrary} has no effect with sslmode=disable, which turns TLS off; remove one of them`
  }
  for (const [name, other] of Object.entries(PAIRED)) {
    if (parameters.has(name) && !parameters.has(other))
      return `${name} needs ${other}=<PEM file>, as a client certificate is two files`
  }
  for (const name of SSL_FILES) {
    const path = parameters.get(name)
    if (path === null || (name === 'sslrootcert' && path === 'system')) continue
    const problem = fileProblem(name, path)
    if (problem !== undefined) return problem
  }
  const [cert, key] = [parameters.get('sslcert'), parameters.get('sslkey')]
  if (cert === null || key === null) return undefined
  const isPair = new X509Certificate(readFileSync(cert)).checkPrivateKey(createPrivateKey(readFileSync(key)))
  return isPair ? undefined : `sslkey=${key}: it is not the key of the certificate ${cert}`
}

function fileProblem(name: (typeof SSL_FILES)[number], path: string) {
  const named = `${name}=${path}`
  let text
  try {
    text = readText(named, path)
  } catch (error) {
    return (error as Error).message
  }
  try {
    const parse = name === 'sslkey' ? createPrivateKey : (pem: string) => new X509Certificate(pem)
    parse(text)
    return undefined
  } catch {
    const content = name === 'sslkey' ? 'private key in PEM form without a passphrase' : 'certificate in PEM form'
    return `${named}: it contains no ${content}`
  }
}

const NO_ADDRESS =
  'it must be an address such as postgresql://user:password@host:5432/name, where special characters in the user and password are percent-encoded'
const PAIRED = { sslcert: 'sslkey', sslkey: 'sslcert' }

/** Whether a parameter asks for something of TLS. */
function isOn(value: string | null) {
  return value !== null && !['false', '0', 'postgres'].includes(value)
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
