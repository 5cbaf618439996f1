import { serialize } from 'node:v8'
import type { DiffLimits } from '../terraform-state/state-diff.ts'
import { runTask, type TaskName, tooDeep } from './tasks.ts'

/** What travels to a worker: contents are transferred or shared, never copied. */
export type WorkerRequest = { name: TaskName; contents: Uint8Array[]; options: DiffLimits }

/** What reading content of this size (bytes) leaves behind is collected at once. */
const LARGE_BYTES = 1024 * 1024

/**
 * The entry of a worker thread; the pool calls it with each request. The outcome leaves as bytes: a value too deep to be
 * cloned would fail in the pool's own code, which then waits for this thread for ever.
 */
export default function work({ name, contents, options }: WorkerRequest): Uint8Array {
  if (contents.some(({ byteLength }) => byteLength > LARGE_BYTES)) setImmediate(collect)
  const outcome = runTask(name, contents, options)
  try {
    return serialize(outcome)
  } catch (error) {
    return serialize(tooDeep(error))
  }
}

/**
 * Gives back what the last request has left, tens of MB for a few MB of content: V8 would let it grow over several requests. Hardly anything
 * is alive, so it takes 10 ms, and the answer has left by then. Only `groundstate serve` exposes the collector.
 */
function collect() {
  ;(globalThis as { gc?: (options: { type: 'major'; execution: 'sync' }) => void }).gc?.({
    type: 'major',
    execution: 'sync',
  })
}
