import { setTimeout as pause } from 'node:timers/promises'

export type Process = { pid: number; ended: () => Promise<unknown>; restart: () => Promise<unknown> }
export type Supervised = AsyncDisposable & {
  /** Kills the process at an arbitrary instruction. The supervisor starts it again. */
  kill: () => void
  /** How often it was killed, and how often it had to be started again: more when it ended by itself too. */
  kills: () => number
  starts: () => number
}

/** Between an end and the next start, in ms, as systemd has it. */
const WAIT_MS = 100

/** Starts a process again whenever it has ended, as systemd would, until it is disposed of. */
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
      // A start that failed has ended too, and the next one follows.
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
        // It has ended, and is about to be started again.
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
