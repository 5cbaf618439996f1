/** The code of an error of the system, the database or a library, such as `ENOENT`; undefined without one. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

export function messageOf(error: unknown) {
  return error instanceof Error ? error.message : String(error)
}

/** Awaits a file operation; undefined if it fails with the code. */
export async function ignoring<T>(code: 'ENOENT' | 'EEXIST', operation: Promise<T>): Promise<T | undefined> {
  return operation.catch((error: unknown) => {
    if (codeOf(error) === code) return undefined
    throw error
  })
}
