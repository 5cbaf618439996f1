/** The code of an error of the system, the database or a library, such as `ENOENT`; undefined without one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
