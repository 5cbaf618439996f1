import type { Progress } from './apply-progress.ts'
import type { ResourceChange } from './plan-model.ts'

/** What the row of a resource shows of the apply. `left` was not reached before the apply ended. */
export type RowProgress =
  | Extract<Progress, { state: 'running' }>
  | { state: 'waiting' | 'failed' | 'left' }
  | { state: 'done'; seconds: number | undefined }

export type ApplyState = 'running' | 'finished' | 'stopped'

/** Where a resource is in an apply that has begun; undefined for what the apply does not touch. */
export function rowProgress(
  { kind, steps, isDeferred }: Pick<ResourceChange, 'kind' | 'steps' | 'isDeferred'>,
  progress: Progress | undefined,
  { apply, hasError }: { apply: ApplyState; hasError: boolean },
): RowProgress | undefined {
  if (isDeferred) return undefined
  if (progress?.state === 'done' && progress.steps >= steps) return { state: 'done', seconds: progress.seconds }
  // The engine's text has no line for a failure: the diagnostic names the resource.
  if (progress?.state === 'failed' || hasError) return { state: 'failed' }
  if (progress?.state === 'running' && apply === 'running') return progress
  if (apply === 'running') return { state: 'waiting' }
  // What only changes in the state is done without a word.
  if (apply === 'finished') return { state: 'done', seconds: progress?.state === 'done' ? progress.seconds : undefined }
  return kind === 'none' ? undefined : { state: 'left' }
}
