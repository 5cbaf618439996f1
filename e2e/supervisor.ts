import { setTimeout as pause } from 'node:timers/promises'

export type Process = { pid: number; ended: () => Promise<unknown>; restart: () => Promise<unknown> }
export type Supervised = AsyncDisposable & {
  /** Kills the process at an arbitrary instruction. The supervisor starts it again. */
  kill: () => void
  /** Numbers of kills and of restarts, which also count exits without a kill. */
  kills: () => number
  starts: () => number
}

/** Delay before a restart, in ms, as systemd has it. */
const WAIT_MS = 100

/** Restarts a process whenever it exits, as systemd would, until it is disposed of. */
export function supervise(process: Process): Supervised {
  const stop = new AbortController()
  const stopped = new Promise((resolve) => stop.signal.addEventListener('abort', resolve, { once: true }))
  let kills = 0
  let starts = 0

  async function keepRunning() {
    for (;;) {
      await Promise.race([process.ended(), stopped])
      if (stop.signal.aborted) return
      await pause(WAIT_MS)
      starts += 1
      // A failed start is an exit too and is followed by the next one.
      await process.restart().catch(() => {})
    }
  }
  const running = keepRunning()

  return {
    kill() {
      kills += 1
      try {
        globalThis.process.kill(process.pid, 'SIGKILL')
      } catch {
        // It has exited and is about to be restarted.
      }
    },
    kills: () => kills,
    starts: () => starts,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}
