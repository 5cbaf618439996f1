import type { Stage } from '@groundstate/contract/run-tasks'

/** The points of a run at which tasks are asked, in their order. */
export const STAGES = {
  pre_plan: { text: 'Pre-plan', about: 'before the plan, with the configuration' },
  post_plan: { text: 'Post-plan', about: 'after the plan, with what it changes' },
  pre_apply: { text: 'Pre-apply', about: 'after the approval, before the apply' },
  post_apply: { text: 'Post-apply', about: 'after the apply: nothing can be stopped any more' },
} as const satisfies Record<Stage, { text: string; about: string }>

export const STAGE_NAMES = Object.keys(STAGES) as Stage[]

export type Level = 'advisory' | 'mandatory'

/** What a failed task does to its run. */
export const LEVELS = {
  advisory: { text: 'Advisory', about: 'A failure warns, and the run goes on.', verb: 'warns' },
  mandatory: { text: 'Mandatory', about: 'A failure stops the run.', verb: 'stops' },
} as const satisfies Record<Level, { text: string; about: string; verb: string }>
