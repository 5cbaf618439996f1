import { serialize } from 'node:v8'
import type { DiffLimits } from '../terraform-state/state-diff.ts'
import { runTask, type TaskName, tooDeep } from './tasks.ts'

/** What travels to a worker: contents are transferred or shared, never copied. */
export type WorkerRequest = { name: TaskName; contents: Uint8Array[]; options: DiffLimits }

/**
 * The entry of a worker thread; the pool calls it with each request. The outcome leaves as bytes: a value too deep to be
 * cloned would fail in the pool's own code, which then waits for this thread for ever.
 */
export default function work({ name, contents, options }: WorkerRequest): Uint8Array {
  const outcome = runTask(name, contents, options)
  try {
    return serialize(outcome)
  } catch (error) {
    return serialize(tooDeep(error))
  }
}
