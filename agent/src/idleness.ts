/** Counts the jobs under way, and tells when there was none for so long; never without a limit. */
export function watchIdleness(limitMs: number | undefined, onIdle: () => void) {
  let working = 0
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    if (limitMs !== undefined) timer = setTimeout(onIdle, limitMs)
  }
  wait()
  return {
    working: () => working,
    async during<T>(work: () => Promise<T>): Promise<T> {
      clearTimeout(timer)
      working += 1
      try {
        return await work()
      } finally {
        working -= 1
        if (working === 0) wait()
      }
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}
