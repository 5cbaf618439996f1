import { CirclePlay, MessageSquare } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { ErrorNote } from '../../../components/feedback.tsx'
import { TextArea } from '../../../components/form.tsx'
import { toast } from '../../../components/overlay-hosts.tsx'
import { TONE_TEXT } from '../../../components/status.tsx'
import { RelativeTime } from '../../../components/time.tsx'
import type { PhaseName } from '../run-navigation.tsx'
import { originText } from '../run-origin.tsx'
import { findingsText, isAdvisoryFailure, resultStyle, STEP_STYLE, type StepState } from '../run-steps.tsx'
import type { Apply, Plan, Run, RunDocument, RunEvent, TaskStage } from '../run.ts'
import { useAddComment } from '../run.ts'

export function TimelineTab({ document }: { document: RunDocument }) {
  const { run } = document
  return (
    <div className="rounded-lg border border-line bg-paper p-4">
      <ol aria-label="Timeline" className="space-y-3">
        {timelineEntries(document).map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ol>
      {run.attributes.permissions['can-comment'] && <CommentForm runId={run.id} />}
    </div>
  )
}

/** A past start has its own icon instead of a spinner. */
const ENTRY_STYLE = {
  ...STEP_STYLE,
  running: { tone: 'busy', icon: CirclePlay },
  comment: { tone: 'accent', icon: MessageSquare },
} as const

function Entry({ entry: { at, state, author, text, description, comment } }: { entry: TimelineEntry }) {
  const { tone, icon: Icon } = ENTRY_STYLE[state]
  return (
    <li className="flex gap-3">
      <Icon size={16} className={`mt-0.5 shrink-0 ${TONE_TEXT[tone]}`} />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap gap-x-3">
          <span className="min-w-0 flex-1">
            {author !== undefined && <span className="font-medium">{author} </span>}
            {text}
          </span>
          <RelativeTime at={at} className="text-dim" />
        </p>
        {description !== undefined && <p className="whitespace-pre-line text-dim">{description}</p>}
        {comment !== undefined && (
          <p className="mt-1 rounded-md border border-line bg-ground px-3 py-2 whitespace-pre-line">{comment}</p>
        )}
      </div>
    </li>
  )
}

function CommentForm({ runId }: { runId: string }) {
  const add = useAddComment(runId)
  const [text, setText] = useState('')
  const reason = text.trim() === '' ? 'enter a comment first' : undefined

  function submit(event: FormEvent) {
    event.preventDefault()
    if (add.isPending || reason !== undefined) return
    add.mutate(text.trim(), {
      onSuccess: () => {
        setText('')
        toast({ text: 'Comment added' })
      },
    })
  }

  return (
    <form onSubmit={submit} className="mt-4 max-w-2xl space-y-2 border-t border-line pt-4">
      <TextArea label="Comment" maxLength={10_000} value={text} onChange={(event) => setText(event.target.value)} />
      {add.error && <ErrorNote error={add.error} />}
      <Button type="submit" isPending={add.isPending} reason={reason} label="Add comment" />
    </form>
  )
}

type TimelineEntry = {
  id: string
  at: string
  state: StepState | 'comment'
  /** Undefined for automatic events. */
  author?: string | undefined
  /** The event, or after an author what they did. */
  text: string
  /** The reason stated by the author or the server. */
  description?: string | undefined
  comment?: string | undefined
}

type TimelineSource = Pick<RunDocument, 'run' | 'plan' | 'apply' | 'stages' | 'events'>

export function timelineEntries({ run, plan, apply, stages, events }: TimelineSource): TimelineEntry[] {
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

function statusEntry(
  id: string,
  times: Times,
  status: string,
  entry: Omit<TimelineEntry, 'id' | 'at'>,
): TimelineEntry[] {
  const at = times[`${status}-at`]
  return at === undefined ? [] : [{ id: `${id} ${status}`, at, ...entry }]
}
type Times = Readonly<Record<string, string>>

const ACTIONS: Readonly<Record<string, Pick<TimelineEntry, 'text' | 'state'>>> = {
  confirmed: { text: 'approved the plan', state: 'done' },
  discarded: { text: 'discarded the run', state: 'stopped' },
  canceled: { text: 'canceled the run', state: 'stopped' },
  force_canceled: { text: 'force-canceled the run', state: 'stopped' },
  force_executed: { text: 'moved the run to the front of the queue', state: 'done' },
  commented: { text: 'commented', state: 'comment' },
  errored: { text: 'stopped the run', state: 'failed' },
  late_result: { text: 'received a late result from the agent', state: 'warning' },
  reported: { text: 'reported a warning', state: 'warning' },
}

/** The authors of actions that are not of users. */
const AUTHORS: Readonly<Record<string, string>> = {
  errored: 'Groundstate',
  late_result: 'Groundstate',
  reported: 'The agent',
}

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
  const author = event.author ?? AUTHORS[action] ?? 'A token'
  return { ...base, state, author, text }
}

/** Status changes that have neither an event nor a phase. */
function automaticEntries({ id, attributes }: Run, events: readonly RunEvent[]): TimelineEntry[] {
  const isConfirmed = events.some((event) => event.attributes.action === 'confirmed')
  const finished = attributes['plan-only'] ? 'Plan-only run finished' : 'Run finished: nothing to apply'
  const description = attributes['error-message'] ?? undefined
  const entry = (status: string, state: StepState, text: string, more = {}) =>
    statusEntry(id, attributes['status-timestamps'], status, { state, text, ...more })
  return [
    ...(isConfirmed ? [] : entry('confirmed', 'done', 'Plan approved automatically (auto-apply)')),
    ...entry('planned-and-saved', 'attention', 'Plan saved'),
    ...entry('planned-and-finished', 'done', finished),
    ...entry('errored', 'failed', 'Run errored', { description }),
  ]
}

type PhaseAttributes = Plan['attributes'] | Apply['attributes']

function phaseEntries(phase: PhaseName, attributes: PhaseAttributes | undefined): TimelineEntry[] {
  if (!attributes) return []
  const times = attributes['status-timestamps']
  const title = phase === 'plan' ? 'Plan' : 'Apply'
  const agent = attributes['execution-details']?.['agent-name']
  const entry = (status: string, state: StepState, text: string) =>
    statusEntry(phase, times, status, { state, text: `${title} ${text}` })
  return [
    ...entry('queued', 'waiting', 'queued'),
    ...entry('started', 'running', agent ? `started on agent ${agent}` : 'started'),
    ...entry('finished', 'done', `finished${countsText(attributes)}`),
    ...(times['started-at'] === undefined
      ? []
      : [...entry('errored', 'failed', 'failed'), ...entry('canceled', 'stopped', 'canceled')]),
  ]
}

/** ": +2 ~4 −0", empty if the counts are unknown. */
function countsText(attributes: PhaseAttributes) {
  const { 'resource-additions': added, 'resource-changes': changed, 'resource-destructions': destroyed } = attributes
  return added === null || changed === null || destroyed === null ? '' : `: +${added} ~${changed} −${destroyed}`
}

function stageEntries({ attributes, results }: TaskStage): TimelineEntry[] {
  const names = results.map((result) => result.attributes['task-name']).join(', ')
  const text = `Run ${results.length === 1 ? 'task' : 'tasks'} ${names} started`
  return [
    ...statusEntry(attributes.stage, attributes['status-timestamps'], 'running', { state: 'running', text }),
    ...results.flatMap((result) => {
      const { status, message, 'task-name': name, 'status-timestamps': times } = result.attributes
      if (!['passed', 'failed', 'errored', 'unreachable'].includes(status)) return []
      const success = findingsText([result]) === undefined ? 'done' : 'warning'
      const failure = isAdvisoryFailure(result) ? 'warning' : 'failed'
      return statusEntry(result.id, times, status, {
        state: status === 'passed' ? success : failure,
        text: `Run task ${name}: ${resultStyle(result).text}`,
        description: message || undefined,
      })
    }),
  ]
}
