type Timeout = { ms: number; error: () => Error }

/** Runs at most `maximum` functions concurrently, in the order of the calls. A call that waits too long is rejected. */
export function concurrencyLimit(maximum: number, timeout?: Timeout) {
  const waiting = new Set<() => void>()
  let busy = 0

  async function wait() {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.add(resolve)
    const timer = timeout && setTimeout(() => waiting.delete(resolve) && reject(timeout.error()), timeout.ms).unref()
    return promise.finally(() => clearTimeout(timer))
  }

  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (busy === maximum) await wait()
    else busy += 1
    try {
      return await work()
    } finally {
      const [next] = waiting
      if (next) {
        waiting.delete(next)
        next()
      } else busy -= 1
    }
  }
}

/** A limit for each key. */
export function concurrencyLimits(maximum: number, timeout: Timeout) {
  const limits = new Map<string, { run: ReturnType<typeof concurrencyLimit>; calls: number }>()
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const limit = limits.get(key) ?? { run: concurrencyLimit(maximum, timeout), calls: 0 }
    limits.set(key, limit)
    limit.calls += 1
    try {
      return await limit.run(work)
    } finally {
      limit.calls -= 1
      if (limit.calls === 0) limits.delete(key)
    }
  }
}
