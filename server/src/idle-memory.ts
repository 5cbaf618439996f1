/** How often this process looks whether it has become idle, in ms. */
const SAMPLE_MS = 1000
/** Consecutive samples below this share of a processor count as idle. */
const QUIET_CHECKS = 2
const QUIET_SHARE = 0.1
/** Processor time since the last collection, in ms, after which there may be something to give back. */
const WORTHWHILE_MS = 500

/** With options that Node supports but its types lack. */
type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

const drops: (() => void)[] = []

/** Has `drop` called whenever this process has become idle after some work, for a cache of what can be read again. */
export function dropWhenIdle(drop: () => void) {
  drops.push(drop)
}

/**
 * Gives memory back to the system once this process has become idle, until it is disposed of. V8 keeps what a start or a load has left,
 * tens of MB, until something is allocated again. A collection that gives it back holds the loop for about 0.15 s, so it waits for a
 * moment when nothing happens. Node must have been started with `--expose-gc`, as `groundstate serve` does.
 */
export function giveBackIdleMemory(collect = (globalThis as { gc?: Collect }).gc): Disposable {
  let last = { at: performance.now(), cpuMs: cpuMs() }
  let collectedCpuMs = 0
  let quietLooks = 0
  const timer = setInterval(() => {
    const now = { at: performance.now(), cpuMs: cpuMs() }
    const share = (now.cpuMs - last.cpuMs) / (now.at - last.at)
    last = now
    quietLooks = share < QUIET_SHARE ? quietLooks + 1 : 0
    if (quietLooks < QUIET_CHECKS || now.cpuMs - collectedCpuMs < WORTHWHILE_MS) return
    for (const drop of drops) drop()
    collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    collectedCpuMs = cpuMs()
    last = { at: performance.now(), cpuMs: collectedCpuMs }
  }, SAMPLE_MS)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

function cpuMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
