/** The message of an error. A connection error about several addresses has none, only a code. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // The message of a TLS error is a line of OpenSSL's log, with its source file.
  if ('library' in error && 'reason' in error) return `the TLS handshake failed: ${String(error.reason)}`
  return error.message || codeOf(error)
}

/** The `code` of a system or library error, such as `ENOENT`; an empty text if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
