import type { Wire } from '@groundstate/contract/responses'
import type { queuedRunSchema } from '@groundstate/contract/runs'

type Queued = Pick<Wire<typeof queuedRunSchema>['attributes'], 'status' | 'position-in-queue'>

/**
 * The place of a run in the line for agents, counted from 1; its position counts the `running` ones, too. What waits for a
 * lock or for the run before it in its workspace is in no such line yet: its reason says for what.
 */
export function placeInLine({ status, 'position-in-queue': position }: Queued, running: number) {
  return position === 0 || status === 'pending' ? undefined : Math.max(1, position - running)
}
