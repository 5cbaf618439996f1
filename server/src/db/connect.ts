import { type ConnectionOptions, TLSSocket } from 'node:tls'
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
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'connect to a name that its certificate has, or set sslmode=verify-ca in GROUNDSTATE_DATABASE_URL'
  // PostgreSQL's code for a full disk.
  if (code === '53100') return 'free some space on the disk of the database'
  return isEmbedded ? 'the file postgres.log in GROUNDSTATE_DATA_DIR has the reason' : 'check GROUNDSTATE_DATABASE_URL'
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error ? String(error.code) : ''
  if (UNTRUSTED.has(code)) return `no trusted authority has issued its certificate (${error.message})`
  return NETWORK_REASONS[code] ?? (error.message.split('\n', 1)[0] || code)
}
