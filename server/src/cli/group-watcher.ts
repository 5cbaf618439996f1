import { spawn } from 'node:child_process'

/** Ignores terminal signals, dies of a SIGTERM to its group, and ends when its input closes. */
const PROGRAM = `trap '' INT QUIT HUP; exec cat`

/**
 * A process that only shares this one's process group. A SIGTERM that kills it was sent to the whole group, and so
 * reached all other children too. Node does not say who sent a signal, or to whom else.
 */
type GroupWatcher = {
  /** Whether the SIGTERM that this process just received went to its group; a no takes up to `withinMs`. */
  wasTerminated(withinMs: number): Promise<boolean>
  [Symbol.dispose](): void
}

export function watchGroup(): GroupWatcher {
  let diedAt = -Infinity
  let onDeath = () => {}
  let ended = false
  let current = start()

  function start() {
    // If it can't be started, no signal is seen.
    const started = spawn('sh', ['-c', PROGRAM], { stdio: ['pipe', 'ignore', 'ignore'] }).on('error', () => {})
    return started.on('exit', (_, signal) => {
      if (signal === null) return
      diedAt = performance.now()
      onDeath()
      if (!ended) current = start()
    })
  }

  return {
    async wasTerminated(withinMs) {
      if (performance.now() - diedAt < withinMs) return true
      return await new Promise<boolean>((resolve) => {
        const timer = setTimeout(resolve, withinMs, false)
        onDeath = () => {
          clearTimeout(timer)
          resolve(true)
        }
      })
    },
    [Symbol.dispose]() {
      ended = true
      current.kill()
    },
  }
}
