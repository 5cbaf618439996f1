import { type ConnectionOptions, type PeerCertificate, TLSSocket } from 'node:tls'
import pg from 'pg'
import { connectionOptions } from '../database-address.ts'
import { connectionString } from '../postgres/owner.ts'
import { StartError } from '../start-error.ts'

const CONNECT_TIMEOUT_MS = 10_000

const NETWORK_REASONS: Record<string, string> = {
  ECONNREFUSED: 'nothing is listening there',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  ETIMEDOUT: 'it does not respond',
  EHOSTUNREACH: 'there is no route to it',
}

/** Codes of certificates that no trusted authority has issued. */
const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
])

/** Code of a certificate for other hosts. */
const MISNAMED = 'ERR_TLS_CERT_ALTNAME_INVALID'
/** Codes of alerts with which a database rejects the client's certificate, or its absence. */
const REJECTED = /^ERR_SSL_.+_ALERT_(?:UNKNOWN_CA|\w*CERTIFICATE\w*)$/

/** Connects to the database at `url`. Throws a `StartError`, whose message never contains the password. */
export async function connectDatabase(url: string, applicationName: string): Promise<pg.Client> {
  const client = new pg.Client({
    ...connectionOptions(url),
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  })
  // A later failure rejects the affected query. Without a listener, the event would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (cause) {
    await client.end().catch(() => undefined)
    throw new StartError(`can't use the database ${databaseName(client)}: ${reasonOf(cause)}`, {
      cause,
      advice: adviceOn(cause, { isEmbedded: url === connectionString(client.host) }),
    })
  }
}

/** Describes the database of a client in messages. */
export function databaseName(client: pg.Client) {
  return `${client.host}:${client.port}/${client.database ?? ''}`
}

/** Describes in messages how the connection of a client is secured; undefined through a socket of the file system. */
export function securityOf(client: pg.Client) {
  const { stream } = client.connection
  if (!(stream instanceof TLSSocket)) return client.host.startsWith('/') ? undefined : 'not encrypted'
  // The type of `pg` lacks the options.
  const options = client.ssl as boolean | ConnectionOptions
  const { rejectUnauthorized, checkServerIdentity } = typeof options === 'object' ? options : {}
  const verified = checkServerIdentity === undefined ? 'verified' : 'verified for any host'
  return `${stream.getProtocol() ?? 'TLS'}, certificate ${rejectUnauthorized === false ? 'not verified' : verified}`
}

function adviceOn(error: unknown, { isEmbedded }: { isEmbedded: boolean }) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (UNTRUSTED.has(code))
    return 'set sslrootcert in GROUNDSTATE_DATABASE_URL to the PEM file of the authority that issued its certificate'
  if (REJECTED.test(code))
    return 'set sslcert and sslkey in GROUNDSTATE_DATABASE_URL to the PEM files of a certificate that the database accepts'
  if (code === MISNAMED)
    return 'connect to a name that its certificate has, or set sslmode=verify-ca in GROUNDSTATE_DATABASE_URL'
  // PostgreSQL's code for a full disk.
  if (code === '53100') return 'free some space on the disk of the database'
  return isEmbedded ? 'the file postgres.log in GROUNDSTATE_DATA_DIR has the reason' : 'check GROUNDSTATE_DATABASE_URL'
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  // Node.js adds advice on its own options.
  if (UNTRUSTED.has(code)) return `no trusted authority has issued its certificate (${error.message.split(';', 1)[0]})`
  if (code === MISNAMED && 'host' in error && 'cert' in error)
    return `its certificate is for ${namesIn(error.cert)}, not for ${String(error.host)}`
  // The message is a line of OpenSSL's log.
  if (code.startsWith('ERR_SSL_') && 'reason' in error)
    return REJECTED.test(code)
      ? `it rejects the client certificate (${String(error.reason)})`
      : `the TLS handshake failed: ${String(error.reason)}`
  return NETWORK_REASONS[code] ?? (error.message.split('\n', 1)[0] || code)
}

function namesIn(certificate: unknown) {
  const { subjectaltname, subject } = certificate as Partial<PeerCertificate>
  return subjectaltname?.replaceAll(/(?:DNS|IP Address):/g, '') ?? [subject?.CN ?? 'no host'].flat().join(', ')
}
