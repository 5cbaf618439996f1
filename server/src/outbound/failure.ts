import { ForbiddenAddressError } from './connect.ts'

const NO_TLS = 'the other side does not speak TLS: give the port that does, or a URL with http'

/** Error codes of the system, the TLS library and the HTTP client, explained for the operator of the receiving server. */
const WORDS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused: nothing listens there',
  ECONNRESET: 'the connection was closed before a response came',
  EPIPE: 'the connection was closed before a response came',
  UND_ERR_SOCKET: 'the connection was closed before a response came',
  ENOTFOUND: 'the name of the host has no address',
  EAI_AGAIN: 'the name of the host could not be resolved now',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  ETIMEDOUT: 'no connection could be made in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection could be made in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the response are too large',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed: give the task its ca-certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate comes from an unknown authority: give the task its ca-certificate',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'the certificate comes from an unknown authority: give the task its ca-certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate comes from an unknown authority: give the task its ca-certificate',
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
}

/** The reason why a request failed, in plain words. */
export function failureWords(error: unknown): string {
  const cause = innermostError(error)
  if (cause instanceof ForbiddenAddressError) return cause.message
  if (!(cause instanceof Error)) return String(cause)
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
  if (code !== undefined && code in WORDS) return `${WORDS[code]} (${code})`
  if (cause.name === 'HTTPParserError') return `the response is not HTTP (${cause.message})`
  if (code?.startsWith('ERR_SSL')) return `TLS could not be agreed on: ${tlsReason(cause)} (${code})`
  return code === undefined ? cause.message : `${cause.message} (${code})`
}

/** A message of the TLS library contains its source location and ends with a line break. */
function tlsReason(cause: Error) {
  return 'reason' in cause && typeof cause.reason === 'string' ? cause.reason : cause.message.trim()
}

/** The error at the bottom of what the HTTP client has wrapped. */
export function innermostError(error: unknown): unknown {
  // All addresses of a name failed; the first error is representative.
  if (error instanceof AggregateError && error.errors.length > 0) return innermostError(error.errors[0])
  return error instanceof Error && error.cause instanceof Error ? innermostError(error.cause) : error
}
