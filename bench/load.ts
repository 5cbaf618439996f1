import { type BenchRow, cpuParts, type Target } from './target.ts'

export const CLIENTS = 16
const WINDOW_MS = 4000
/** For comparisons of two trees. Two slices are shorter than the 2 s after which an idle server drops its caches. */
const SLICES = 12
const SLICE_MS = 800
/** Groups of single calls in comparisons of two trees. */
const GROUPS = 5

type Work = (client: number) => Promise<unknown>
/** Waits for background work that the calls caused. */
type Settle = () => Promise<unknown>

/** Calls per second while `clients` call `work` repeatedly, for each slice. */
export async function rates(target: Target, clients: number, work: Work): Promise<number[]> {
  return (await measure(target, clients, work)).map(({ rate }) => rate)
}

/** The rate of `work` after a warm-up, and the processor time of each call up to and including `settle`. */
export async function load(
  target: Target,
  name: string,
  { work, clients = CLIENTS, settle, budget }: { work: Work; clients?: number; settle?: Settle; budget?: number },
): Promise<BenchRow[]> {
  await target.turn?.()
  await callFor(SLICE_MS, clients, work)
  await settle?.()
  const slices = await measure(target, clients, work, settle)
  return [
    sampledRow(
      { name, unit: '/s', better: 'more', budget },
      slices.map(({ rate }) => rate),
    ),
    sampledRow(
      { name: `${name}: processor time`, unit: 'ms', better: 'less' },
      slices.map(({ server, database }) => server + database),
    ),
    sampledRow(
      { name: `${name}: processor time of the database`, unit: 'ms', better: 'less' },
      slices.map(({ database }) => database),
    ),
  ]
}

export function sampledRow(row: Omit<BenchRow, 'value' | 'samples'>, samples: readonly number[]): BenchRow {
  return { ...row, value: median(samples), samples }
}

/** Durations of `count` sequential calls, in ms. */
export async function durations(target: Target, count: number, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let index = 0; index < count; index += 1) {
    if (index % Math.ceil(count / GROUPS) === 0) await target.turn?.()
    const started = performance.now()
    await work()
    times.push(performance.now() - started)
  }
  return times
}

export function percentile(values: readonly number[], part: number) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export function median(values: readonly number[]) {
  return percentile(values, 0.5)
}

/** For each slice, the calls per second, and the processor time per call in ms. */
async function measure(target: Target, clients: number, work: Work, settle?: Settle) {
  const slices: { rate: number; server: number; database: number }[] = []
  for (let slice = 0; slice < (target.turn ? SLICES : 1); slice += 1) {
    await target.turn?.()
    const before = await cpuParts(target.pid)
    const started = performance.now()
    const calls = await callFor(target.turn ? SLICE_MS : WINDOW_MS, clients, work)
    const rate = calls / ((performance.now() - started) / 1000)
    await settle?.()
    const after = await cpuParts(target.pid)
    const server = (after.server - before.server) / calls
    slices.push({ rate, server, database: (after.database - before.database) / calls })
  }
  return slices
}

/** Number of completed calls within `ms`. */
async function callFor(ms: number, clients: number, work: Work) {
  const end = performance.now() + ms
  let calls = 0
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      while (performance.now() < end) {
        await work(client)
        calls += 1
      }
    }),
  )
  return calls
}
