import type { DiffLimits } from '../features/state-versions/diff.ts'
import { runTask, type TaskName } from './tasks.ts'

/** What travels to a worker: contents are transferred or shared, never copied. */
export type WorkerRequest = { name: TaskName; contents: Uint8Array[]; options: DiffLimits }

/** The entry of a worker thread; the pool calls it with each request. */
export default function work({ name, contents, options }: WorkerRequest) {
  return runTask(name, contents, options)
}
