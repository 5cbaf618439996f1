import { once } from 'node:events'

/** Of an engine; null when the agent has killed it. */
type ExitCode = number | null

/** The memory of what is installed is dropped beyond this many workspaces. */
const REMEMBERED = 10_000

/**
 * Lets one `init` at a time fill the shared plugin cache, which engines do not lock against each other: two that install the
 * same provider would write the same files. One whose providers this agent has installed before only reads, and goes at once.
 */
export type InitGate = ReturnType<typeof createInitGate>

export function createInitGate() {
  const installed = new Set<string>()
  let last: Promise<void> = Promise.resolve()

  return {
    /**
     * Runs `init` when it may, and returns its exit code; `providers` names what it will install, and `init` hears whether it is
     * alone with that. Rejects when the signal aborts while it waits.
     */
    async pass(providers: string, signal: AbortSignal, init: (alone: boolean) => Promise<ExitCode>): Promise<ExitCode> {
      if (installed.has(providers)) return init(false)
      const previous = last
      const turn = Promise.withResolvers<void>()
      last = turn.promise
      try {
        await waitFor(previous, signal)
        const code = await init(true)
        if (installed.size >= REMEMBERED) installed.clear()
        if (code === 0) installed.add(providers)
        return code
      } finally {
        void previous.then(turn.resolve)
      }
    },
  }
}

async function waitFor(previous: Promise<void>, signal: AbortSignal) {
  signal.throwIfAborted()
  const done = new AbortController()
  try {
    await Promise.race([previous, once(signal, 'abort', { signal: done.signal })])
  } finally {
    done.abort()
  }
  signal.throwIfAborted()
}
