import { serialize } from 'node:v8'
import type { DiffLimits } from '../terraform-state/state-diff.ts'
import { LARGE_BYTES, runTask, type TaskName, tooDeep } from './tasks.ts'

/** What travels to a worker: contents are transferred or shared, never copied. */
export type WorkerRequest = { name: TaskName; contents: Uint8Array[]; options: DiffLimits }

/**
 * The entry of a worker thread; the pool calls it with each request. The outcome leaves as bytes: a value too deep to be
 * cloned would fail in the pool's own code, which then waits for this thread for ever.
 */
export default function work({ name, contents, options }: WorkerRequest): Uint8Array {
  if (contents.some(({ byteLength }) => byteLength >= LARGE_BYTES)) setImmediate(collect)
  const outcome = runTask(name, contents, options)
  try {
    return serialize(outcome)
  } catch (error) {
    return serialize(tooDeep(error))
  }
}

/**
 * Gives back what a large content has left, which V8 would keep until more comes. It is not worth the time for a smaller one: after each
 * state of 5 MB it took a third of the work in all, for a heap of 30 MB at most and not of 44. The answer has left by then. Only
 * `groundstate serve` exposes the collector.
 */
function collect() {
  ;(globalThis as { gc?: (options: { type: 'major'; execution: 'sync' }) => void }).gc?.({
    type: 'major',
    execution: 'sync',
  })
}
