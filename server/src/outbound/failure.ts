import { ForbiddenAddressError } from './connect.ts'

const CLOSED = 'the connection was closed before a response arrived'
const TIMED_OUT = 'the connection timed out'
const NO_TLS = 'the host does not use TLS on this port: use its TLS port, or an http URL'
const UNKNOWN_AUTHORITY = 'the certificate was issued by an unknown authority'

/** How a user makes a certificate trusted: for run tasks, and for all other requests. */
export const TASK_TRUST = 'set the ca-certificate of the task'
const TRUST = 'trust its authority with NODE_EXTRA_CA_CERTS'
const UNTRUSTED: ReadonlySet<string | undefined> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Error codes of the system, the TLS library and the HTTP client. */
const REASONS: Record<string, string> = {
  ECONNREFUSED: 'connection refused: nothing is listening there',
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  UND_ERR_SOCKET: CLOSED,
  ENOTFOUND: 'the host name has no address',
  EAI_AGAIN: 'the host name cannot be resolved at the moment',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  ETIMEDOUT: TIMED_OUT,
  UND_ERR_CONNECT_TIMEOUT: TIMED_OUT,
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the response are too large',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
}

/** The reason why a request failed, for the user; `trust` says how to have a certificate trusted. */
export function failureReason(error: unknown, trust: string = TRUST): string {
  const cause = innermostError(error)
  if (cause instanceof ForbiddenAddressError) return cause.message
  if (!(cause instanceof Error)) return String(cause)
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
  const advice = UNTRUSTED.has(code) ? `: ${trust}` : ''
  if (code !== undefined && code in REASONS) return `${REASONS[code]}${advice} (${code})`
  if (cause.name === 'HTTPParserError') return `the response is not HTTP (${cause.message})`
  if (code?.startsWith('ERR_SSL')) return `the TLS handshake failed: ${tlsReason(cause)} (${code})`
  return code === undefined ? cause.message : `${cause.message} (${code})`
}

/** `message` of an error of the TLS library contains a source location and a line break. */
function tlsReason(cause: Error) {
  return 'reason' in cause && typeof cause.reason === 'string' ? cause.reason : cause.message.trim()
}

/** The root cause of an error of the HTTP client. */
export function innermostError(error: unknown): unknown {
  // All addresses of a name failed; the first error is representative.
  if (error instanceof AggregateError && error.errors.length > 0) return innermostError(error.errors[0])
  return error instanceof Error && error.cause instanceof Error ? innermostError(error.cause) : error
}
