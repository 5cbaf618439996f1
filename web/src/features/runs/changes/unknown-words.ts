import type { RowProgress } from './row-progress.ts'

/** What is said of a value that the plan does not know, of a resource that the apply is at, has done or never came to. */
export function unknownWords(progress: RowProgress['state'] | undefined) {
  if (progress === 'done') return 'set by the apply'
  if (progress === 'failed') return 'not known: the apply failed here'
  if (progress === 'left') return 'not known: it was not applied'
  return 'known after apply'
}
