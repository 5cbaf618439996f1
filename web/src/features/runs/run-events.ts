import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { StepState } from './run-steps.tsx'
import type { RunDocument } from './run.ts'

/** Past-tense verbs of events, by action. */
export const EVENT_TEXTS: Readonly<Record<string, { text: string; state: StepState | 'comment' }>> = {
  confirmed: { text: 'approved the plan', state: 'done' },
  discarded: { text: 'discarded the run', state: 'stopped' },
  canceled: { text: 'canceled the run', state: 'stopped' },
  force_canceled: { text: 'force-canceled the run', state: 'stopped' },
  overrode_policies: { text: 'overrode the failed policies', state: 'done' },
  force_executed: { text: 'moved the run to the front of the queue', state: 'done' },
  commented: { text: 'commented', state: 'comment' },
  errored: { text: 'stopped the run', state: 'failed' },
  late_result: { text: 'received a late result from the agent', state: 'warning' },
  reported: { text: 'reported a warning', state: 'warning' },
  secrets_withheld: { text: 'withheld sensitive values', state: 'warning' },
}

/** The authors of actions that are not of users. */
export const EVENT_AUTHORS: Readonly<Record<string, string>> = {
  errored: 'Groundstate',
  late_result: 'Groundstate',
  secrets_withheld: 'Groundstate',
  reported: 'The agent',
}

/** User who stopped a run, with the comment; undefined unless it was canceled or discarded. */
export function stopOf({ run, events }: Pick<RunDocument, 'run' | 'events'>) {
  if (RUN_STATUS_TABLE[run.attributes.status].group !== 'stopped') return undefined
  const event = events.findLast(({ attributes }) => EVENT_TEXTS[attributes.action]?.state === 'stopped')
  return event && { author: event.author ?? 'a token', comment: event.comment }
}
