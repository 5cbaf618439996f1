/** A database that does not answer for this long, in ms, is given up: a network may lose a connection without a word, and the next statement takes another one. */
export const DATABASE_TIMEOUT_MS = 10_000

/** Awaits `work` for at most `limitMs`. Throws after that, while `work` itself continues. */
export async function withTimeout<T>(work: Promise<T>, limitMs = DATABASE_TIMEOUT_MS): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`the database has not answered for ${limitMs} ms`)), limitMs)
  // A process that ends waits for no response.
  timer.unref()
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
