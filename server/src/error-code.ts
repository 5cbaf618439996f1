/** What the system, the database or a library calls an error, such as `ENOENT`; undefined for one that has no code. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
