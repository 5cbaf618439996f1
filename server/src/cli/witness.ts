import { spawn } from 'node:child_process'

/** Dies of what its group gets, unless it comes from the terminal, and ends with the process that holds its input. */
const PROGRAM = `trap '' INT QUIT HUP; exec cat`

/**
 * A process that does nothing but share this one's process group. A SIGTERM that kills it was sent to the whole group, and
 * has reached all other children too: Node does not tell who sent a signal, or to whom else.
 */
type Witness = {
  /** Whether the SIGTERM that this process has just got went to its group; it takes up to `withinMs` to say no. */
  sawTermination(withinMs: number): Promise<boolean>
  [Symbol.dispose](): void
}

export function startWitness(): Witness {
  let diedAt = -Infinity
  let onDeath = () => {}
  let ended = false
  let current = start()

  function start() {
    // Where it can't be started, nothing is ever seen.
    const started = spawn('sh', ['-c', PROGRAM], { stdio: ['pipe', 'ignore', 'ignore'] }).on('error', () => {})
    return started.on('exit', (_, signal) => {
      if (signal === null) return
      diedAt = performance.now()
      onDeath()
      if (!ended) current = start()
    })
  }

  return {
    async sawTermination(withinMs) {
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
