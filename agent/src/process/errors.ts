/** The message of an error. A connection error about several addresses has none, only a code. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || codeOf(error) : String(error)
}

/** The `code` of a system or library error, such as `ENOENT`; an empty text if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
