import type { PhaseName } from '../run-navigation.tsx'
import { originText } from '../run-origin.tsx'
import { type StepState, isAdvisoryFailure } from '../run-steps.ts'
import type { Apply, Plan, Run, RunDocument, RunEvent, TaskStage } from '../run.ts'

export type TimelineEntry = {
  id: string
  at: string
  state: StepState | 'comment'
  /** Undefined for automatic events. */
  author?: string | undefined
  /** The event, or after an author what they did. */
  text: string
  /** The reason, as given by the author or the server. */
  description?: string | undefined
  comment?: string | undefined
}

/** The history of a run, oldest first. */
export function timelineEntries({
  run,
  plan,
  apply,
  stages,
  events,
}: Pick<RunDocument, 'run' | 'plan' | 'apply' | 'stages' | 'events'>): TimelineEntry[] {
  return [
    ...events.map((event) => eventEntry(event, run)),
    ...automaticEntries(run, events),
    ...phaseEntries('plan', plan?.attributes),
    ...stages.flatMap(stageEntries),
    ...phaseEntries('apply', apply?.attributes),
  ]
    .filter(({ at }) => at !== '')
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

const ACTIONS: Readonly<Record<string, Pick<TimelineEntry, 'text' | 'state'>>> = {
  confirmed: { text: 'approved the plan', state: 'done' },
  discarded: { text: 'discarded the run', state: 'stopped' },
  canceled: { text: 'canceled the run', state: 'stopped' },
  force_canceled: { text: 'force-canceled the run', state: 'stopped' },
  force_executed: { text: 'moved the run to the front of the queue', state: 'done' },
  commented: { text: 'commented', state: 'comment' },
  errored: { text: 'stopped the run', state: 'failed' },
  late_result: { text: 'received a late result from the agent', state: 'warning' },
}

const SERVER_ACTIONS = new Set(['errored', 'late_result'])

function eventEntry(event: RunEvent, { attributes }: Run): TimelineEntry {
  const { action, description, 'created-at': at } = event.attributes
  const base = { id: event.id, at, description: description ?? undefined, comment: event.comment }
  if (action === 'created') {
    if (event.author !== undefined) {
      return { ...base, state: 'done', author: event.author, text: `created the run via ${originText(attributes)}` }
    }
    const source = attributes['triggering-source-name']
    return { ...base, state: 'done', text: source === null ? 'Run created' : `Run triggered by a run of ${source}` }
  }
  const { text, state } = ACTIONS[action] ?? { text: action.replaceAll('_', ' '), state: 'done' }
  // Team and organization tokens have no user.
  const author = event.author ?? (SERVER_ACTIONS.has(action) ? 'Groundstate' : 'A token')
  return { ...base, state, author, text }
}

/** Status changes that have neither an event nor a phase. */
function automaticEntries({ id, attributes }: Run, events: readonly RunEvent[]): TimelineEntry[] {
  const times = attributes['status-timestamps']
  const isConfirmed = events.some((event) => event.attributes.action === 'confirmed')
  const entry = (status: string, state: StepState, text: string, description?: string | null): TimelineEntry[] => {
    const at = times[`${status}-at`]
    return at === undefined ? [] : [{ id: `${id} ${status}`, at, state, text, description: description ?? undefined }]
  }
  return [
    ...(isConfirmed ? [] : entry('confirmed', 'done', 'Plan approved automatically (auto-apply)')),
    ...entry('planned-and-saved', 'attention', 'Plan saved'),
    ...entry(
      'planned-and-finished',
      'done',
      attributes['plan-only'] ? 'Plan-only run finished' : 'Run finished: nothing to apply',
    ),
    ...entry('errored', 'failed', 'Run errored', attributes['error-message']),
  ]
}

type PhaseAttributes = Plan['attributes'] | Apply['attributes']

function phaseEntries(phase: PhaseName, attributes: PhaseAttributes | undefined): TimelineEntry[] {
  if (!attributes) return []
  const times = attributes['status-timestamps']
  const title = phase === 'plan' ? 'Plan' : 'Apply'
  const agent = attributes['execution-details']?.['agent-name'] ?? undefined
  const entry = (status: string, state: StepState, text: string): TimelineEntry[] => {
    const at = times[`${status}-at`]
    return at === undefined ? [] : [{ id: `${phase} ${status}`, at, state, text: `${title} ${text}` }]
  }
  return [
    ...entry('queued', 'waiting', 'queued'),
    ...entry('started', 'running', `started${agent === undefined ? '' : ` on agent ${agent}`}`),
    ...entry('finished', 'done', `finished${countsText(attributes)}`),
    ...(times['started-at'] === undefined
      ? []
      : [...entry('errored', 'failed', 'failed'), ...entry('canceled', 'stopped', 'canceled')]),
  ]
}

/** ": +2 ~4 −0", empty if the counts are unknown. */
function countsText(attributes: PhaseAttributes) {
  const {
    'resource-additions': additions,
    'resource-changes': changes,
    'resource-destructions': destructions,
  } = attributes
  if (additions === null || changes === null || destructions === null) return ''
  return `: +${additions} ~${changes} −${destructions}`
}

function stageEntries({ attributes, results }: TaskStage): TimelineEntry[] {
  const startedAt = attributes['status-timestamps']['running-at']
  const names = results.map((result) => result.attributes['task-name']).join(', ')
  return [
    ...(startedAt === undefined
      ? []
      : [
          {
            id: `${attributes.stage} started`,
            at: startedAt,
            state: 'running' as const,
            text: `Run ${results.length === 1 ? 'task' : 'tasks'} ${names} started`,
          },
        ]),
    ...results.flatMap((result): TimelineEntry[] => {
      const { status, message, 'task-name': name, 'status-timestamps': times } = result.attributes
      const at = times[`${status}-at`]
      if (at === undefined || !['passed', 'failed', 'errored', 'unreachable'].includes(status)) return []
      const isAdvisory = isAdvisoryFailure(result)
      return [
        {
          id: result.id,
          at,
          state: status === 'passed' ? 'done' : isAdvisory ? 'warning' : 'failed',
          text: `Run task ${name}: ${status}${isAdvisory ? ' (advisory)' : ''}`,
          description: message === '' ? undefined : message,
        },
      ]
    }),
  ]
}
