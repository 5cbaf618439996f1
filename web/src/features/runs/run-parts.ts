import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { Run, TaskStage } from './run.ts'
import { stoppingStage } from './why-ended.ts'

export const PARTS = ['changes', 'log', 'tasks', 'timeline'] as const
export type Part = (typeof PARTS)[number]
export const PART_TITLES = {
  changes: 'Changes',
  log: 'Log',
  tasks: 'Tasks',
  timeline: 'Timeline',
} as const satisfies Record<Part, string>

/** The part that the reader has chosen, or undefined. */
export function chosenPart(text: string | undefined): Part | undefined {
  return PARTS.find((part) => part === text)
}

/** What a reader who has chosen nothing sees: what matters most in the state of the run. */
export function defaultParts({ attributes }: Run, stages: readonly TaskStage[]): readonly [Part, ...Part[]] {
  const times = attributes['status-timestamps']
  const { status } = attributes
  const { awaits, phase, stage } = RUN_STATUS_TABLE[status]
  if (phase === 'apply' && (awaits === 'agent' || awaits === 'result')) return ['changes', 'log']
  if (stage) return ['tasks']
  if (stoppingStage(status, stages) !== undefined) return ['tasks']
  const wasPlanned = times['planned-at'] !== undefined
  if (status === 'errored') return [times['planning-at'] === undefined ? 'timeline' : 'log']
  if (wasPlanned) return ['changes']
  return [times['planning-at'] === undefined ? 'timeline' : 'log']
}
