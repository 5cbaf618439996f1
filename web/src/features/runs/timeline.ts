import type { StepState } from './run-stages.ts'
import { isAdvisoryFailure } from './run-stages.ts'
import { SOURCES } from './run-words.ts'
import type { Apply, Plan, Run, RunDocument, RunEvent, TaskStage } from './run.ts'

export type TimelineEntry = {
  id: string
  at: string
  state: StepState | 'comment'
  /** Who acted; undefined for what the run did by itself. */
  author?: string | undefined
  /** What happened, after the author if there is one. */
  text: string
  /** Why, in the words of whoever acted or of the server. */
  description?: string | undefined
  comment?: string | undefined
}

type Facts = Pick<RunDocument, 'run' | 'plan' | 'apply' | 'stages' | 'events'>

/** The history of a run, the oldest first: what people did, and what came of it. */
export function timelineOf({ run, plan, apply, stages, events }: Facts): TimelineEntry[] {
  return [
    ...events.map((event) => eventEntry(event, run)),
    ...automaticEntries(run, events),
    ...phaseEntries('plan', plan?.attributes),
    ...stages.flatMap(stageEntries),
    ...phaseEntries('apply', apply?.attributes),
  ]
    .filter(({ at }) => at !== '')
    .map((entry, index) => ({ entry, index }))
    .toSorted((a, b) => Date.parse(a.entry.at) - Date.parse(b.entry.at) || a.index - b.index)
    .map(({ entry }) => entry)
}

const ACTIONS: Readonly<Record<string, { text: string; state: TimelineEntry['state'] }>> = {
  confirmed: { text: 'approved the plan', state: 'done' },
  discarded: { text: 'discarded the run', state: 'stopped' },
  canceled: { text: 'canceled the run', state: 'stopped' },
  force_canceled: { text: 'canceled the run by force', state: 'stopped' },
  force_executed: { text: 'put the run before all others', state: 'done' },
  commented: { text: 'commented', state: 'comment' },
  errored: { text: 'stopped the run', state: 'failed' },
  late_result: { text: 'got a late report of the agent', state: 'warned' },
}

const OF_SERVER = new Set(['errored', 'late_result'])

function eventEntry(event: RunEvent, { attributes }: Run): TimelineEntry {
  const { action, description, 'created-at': at } = event.attributes
  const base = { id: event.id, at, description: description ?? undefined, comment: event.comment }
  if (action === 'created') {
    const source = attributes['triggering-source-name']
    if (event.author === undefined) {
      return {
        ...base,
        state: 'done',
        text: source === null ? 'The run was started' : `A run of ${source} started this one`,
      }
    }
    return { ...base, state: 'done', author: event.author, text: `started the run ${SOURCES[attributes.source]}` }
  }
  const { text, state } = ACTIONS[action] ?? { text: action.replaceAll('_', ' '), state: 'done' }
  // Whoever acts with a token of a team or of the organization has no user.
  const author = event.author ?? (OF_SERVER.has(action) ? 'Groundstate' : 'A token')
  return { ...base, state, author, text }
}

/** What nobody did by hand and no phase tells. */
function automaticEntries({ id, attributes }: Run, events: readonly RunEvent[]): TimelineEntry[] {
  const times = attributes['status-timestamps']
  const isConfirmed = events.some((event) => event.attributes.action === 'confirmed')
  const entries: (TimelineEntry | false)[] = [
    times['confirmed-at'] !== undefined &&
      !isConfirmed && {
        id: `${id} confirmed`,
        at: times['confirmed-at'],
        state: 'done',
        text: 'The run went on by itself: it is set to auto-apply',
      },
    times['planned-and-saved-at'] !== undefined && {
      id: `${id} saved`,
      at: times['planned-and-saved-at'],
      state: 'needed',
      text: 'The plan was saved to be applied later',
    },
    times['planned-and-finished-at'] !== undefined && {
      id: `${id} finished`,
      at: times['planned-and-finished-at'],
      state: 'done',
      text: attributes['plan-only']
        ? 'The run ended: it was for its plan only'
        : 'The run ended: there is nothing to apply',
    },
    times['errored-at'] !== undefined && {
      id: `${id} errored`,
      at: times['errored-at'],
      state: 'failed',
      text: 'The run ended with an error',
      description: attributes['error-message'] ?? undefined,
    },
  ]
  return entries.filter((entry) => entry !== false)
}

type PhaseAttributes = Plan['attributes'] | Apply['attributes']

function phaseEntries(phase: 'plan' | 'apply', attributes: PhaseAttributes | undefined): TimelineEntry[] {
  const times = attributes?.['status-timestamps'] ?? {}
  const title = phase === 'plan' ? 'The plan' : 'The apply'
  const agent = attributes?.['execution-details']?.['agent-name']
  const by = agent === undefined || agent === null ? '' : ` on the agent ${agent}`
  const counts = attributes && countsText(attributes)
  const entry = (name: string, state: StepState, text: string): TimelineEntry[] => {
    const at = times[`${name}-at`]
    return at === undefined ? [] : [{ id: `${phase} ${name}`, at, state, text }]
  }
  const wasBegun = times['started-at'] !== undefined
  return [
    ...entry('queued', 'waiting', `${title} was queued`),
    ...entry('started', 'running', `${title} started${by}`),
    ...entry('finished', 'done', `${title} finished${counts === undefined ? '' : `: ${counts}`}`),
    ...(wasBegun ? entry('errored', 'failed', `${title} failed`) : []),
    ...(wasBegun ? entry('canceled', 'stopped', `${title} was interrupted`) : []),
  ]
}

function countsText(attributes: PhaseAttributes) {
  const {
    'resource-additions': additions,
    'resource-changes': changes,
    'resource-destructions': destructions,
  } = attributes
  if (additions === null || changes === null || destructions === null) return undefined
  return `+${additions} ~${changes} −${destructions}`
}

const VERDICTS = {
  passed: 'passed',
  failed: 'failed',
  errored: 'errored',
  unreachable: 'was unreachable',
} as const

function stageEntries({ attributes, results }: TaskStage): TimelineEntry[] {
  const asked = attributes['status-timestamps']['running-at']
  return [
    ...(asked === undefined
      ? []
      : [{ id: `${attributes.stage} asked`, at: asked, state: 'running', text: askedText(results) } as const]),
    ...results.flatMap((result): TimelineEntry[] => {
      const { status, message, 'task-name': name, 'status-timestamps': times } = result.attributes
      const at = times[`${status}-at`]
      if (at === undefined || !(status in VERDICTS)) return []
      const isAdvisory = isAdvisoryFailure(result)
      const verdict = VERDICTS[status as keyof typeof VERDICTS]
      return [
        {
          id: result.id,
          at,
          state: status === 'passed' ? 'done' : isAdvisory ? 'warned' : 'failed',
          text: `The task ${name} ${verdict}${isAdvisory ? ', which is advisory' : ''}`,
          description: message === '' ? undefined : message,
        },
      ]
    }),
  ]
}

function askedText(results: TaskStage['results']) {
  const names = results.map((result) => result.attributes['task-name'])
  return names.length === 1 ? `The task ${names[0]} was asked` : `The tasks ${names.join(', ')} were asked`
}
