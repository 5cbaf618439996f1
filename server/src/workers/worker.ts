import { serialize } from 'node:v8'
import type { DiffLimits } from '../terraform-state/state-diff.ts'
import { runTask, type TaskName, tooDeep } from './tasks.ts'

/** Message to a worker: contents are transferred or shared, never copied. */
export type WorkerRequest = { name: TaskName; contents: Uint8Array[]; options: DiffLimits }

/**
 * What content of this size (bytes) has left is collected at once: V8 would keep it until more comes. For less it is not worth the time: after
 * each state of 5 MB it took a third of the work in all, for a heap of 30 MB at most and not of 44.
 */
const COLLECTED_BYTES = 16 * 1024 * 1024

/**
 * The entry of a worker thread; the pool calls it with each request. The outcome leaves as bytes: a value too deep to be
 * cloned would fail in the pool's own code, which then waits for this thread for ever.
 */
export default function work({ name, contents, options }: WorkerRequest): Uint8Array {
  if (contents.some(({ byteLength }) => byteLength >= COLLECTED_BYTES)) setImmediate(collect)
  const outcome = runTask(name, contents, options)
  try {
    return serialize(outcome)
  } catch (error) {
    return serialize(tooDeep(error))
  }
}

/** The response has left by then. Only `groundstate serve` exposes the collector. */
function collect() {
  ;(globalThis as { gc?: (options: { type: 'major'; execution: 'sync' }) => void }).gc?.({
    type: 'major',
    execution: 'sync',
  })
}
