import { serialize } from 'node:v8'
import { runTask, type TaskName, type TaskOptions, tooDeep } from './tasks.ts'

/** Message to a worker: contents are transferred or shared, never copied. */
export type WorkerRequest = { name: TaskName; contents: Uint8Array[]; options: TaskOptions }

/** Minimum size of content after which garbage is collected immediately, in bytes: V8 would keep it until more is allocated. */
const COLLECTED_BYTES = 16 * 1024 * 1024

/**
 * Entry of a worker thread. It serialises the outcome itself: a value too deep to be cloned would fail inside the pool, which would then wait for
 * this thread forever.
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

/** Runs after the response was sent. Only `groundstate serve` exposes the collector. */
function collect() {
  const { gc } = globalThis as { gc?: (options: { type: 'major'; execution: 'sync' }) => void }
  gc?.({ type: 'major', execution: 'sync' })
}
