const SAMPLE_INTERVAL_MS = 1000
/** A process is idle after this many samples below this share of a processor. */
const IDLE_SAMPLES = 2
const IDLE_SHARE = 0.1
/** Minimum processor time between collections, in ms: less leaves no garbage worth a collection. */
const MIN_CPU_MS = 500

/** With options that Node supports but its types lack. */
type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

const drops: (() => void)[] = []

/** Calls `drop` whenever this process becomes idle after some work, to clear a cache. */
export function dropWhenIdle(drop: () => void) {
  drops.push(drop)
}

/**
 * Returns memory to the system whenever this process becomes idle, until disposed. V8 keeps tens of MB of garbage until the next
 * allocations. The collection blocks the event loop for about 0.15 s, so it waits for idleness. Needs `--expose-gc`, as in
 * `groundstate serve`.
 */
export function giveBackIdleMemory(collect = (globalThis as { gc?: Collect }).gc): Disposable {
  let last = { at: performance.now(), cpuMs: cpuMs() }
  let collectedCpuMs = 0
  let idleSamples = 0
  const timer = setInterval(() => {
    const now = { at: performance.now(), cpuMs: cpuMs() }
    const share = (now.cpuMs - last.cpuMs) / (now.at - last.at)
    last = now
    idleSamples = share < IDLE_SHARE ? idleSamples + 1 : 0
    if (idleSamples < IDLE_SAMPLES || now.cpuMs - collectedCpuMs < MIN_CPU_MS) return
    for (const drop of drops) drop()
    collect?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    collectedCpuMs = cpuMs()
    last = { at: performance.now(), cpuMs: collectedCpuMs }
  }, SAMPLE_INTERVAL_MS)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

function cpuMs() {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
