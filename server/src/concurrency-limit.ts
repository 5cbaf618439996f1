/** Runs at most `maximum` functions concurrently, in the order of the calls. */
export function concurrencyLimit(maximum: number) {
  const waiting: (() => void)[] = []
  let busy = 0
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (busy === maximum) await new Promise<void>((resolve) => waiting.push(resolve))
    else busy += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else busy -= 1
    }
  }
}

/** Calls `work` for each item, `maximum` at a time. After an error no further items are started, and it is thrown once the others have ended. */
export async function forEachConcurrently<T>(
  items: AsyncIterable<T> | Iterable<T>,
  maximum: number,
  work: (item: T) => Promise<void>,
) {
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]()
  const failure = new AbortController()
  const runner = async () => {
    while (!failure.signal.aborted) {
      const { done, value } = await iterator.next()
      if (done === true) return
      await work(value).catch((error: unknown) => {
        failure.abort()
        throw error
      })
    }
  }
  const results = await Promise.allSettled(Array.from({ length: maximum }, runner))
  await iterator.return?.()
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

type Timeout = { ms: number; error: () => Error }

/**
 * Shares `maximum` concurrent functions among callers. A caller without one starts immediately, even beyond the maximum. The others wait in the
 * order of their calls; one that waits too long is rejected.
 */
export function sharedLimit(maximum: number, timeout: Timeout) {
  const waiting = new Map<() => void, string>()
  const running = new Map<string, number>()
  let busy = 0

  function start(caller: string) {
    busy += 1
    running.set(caller, (running.get(caller) ?? 0) + 1)
  }

  function end(caller: string) {
    busy -= 1
    const rest = (running.get(caller) ?? 0) - 1
    if (rest === 0) running.delete(caller)
    else running.set(caller, rest)
    for (const [resume, next] of waiting) {
      if (busy >= maximum && running.has(next)) continue
      waiting.delete(resume)
      start(next)
      resume()
      return
    }
  }

  async function wait(caller: string) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.set(resolve, caller)
    const timer = setTimeout(() => waiting.delete(resolve) && reject(timeout.error()), timeout.ms).unref()
    return promise.finally(() => clearTimeout(timer))
  }

  return async <T>(caller: string, work: () => Promise<T>): Promise<T> => {
    if (busy >= maximum && running.has(caller)) await wait(caller)
    else start(caller)
    try {
      return await work()
    } finally {
      end(caller)
    }
  }
}
