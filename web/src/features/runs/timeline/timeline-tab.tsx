import { CirclePlay, MessageSquare } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { ErrorNote } from '../../../components/feedback.tsx'
import { TextArea } from '../../../components/form.tsx'
import { toast } from '../../../components/overlay-hosts.tsx'
import { TONE_TEXT } from '../../../components/status.tsx'
import { exactTime } from '../../../components/time.tsx'
import { EVENT_AUTHORS, EVENT_TEXTS } from '../run-events.ts'
import type { PhaseName } from '../run-navigation.tsx'
import { originText } from '../run-origin.tsx'
import { findingsText, isAdvisoryFailure, resultStyle, STEP_STYLE, type StepState } from '../run-steps.tsx'
import type { Apply, Plan, Run, RunDocument, RunEvent, TaskStage } from '../run.ts'
import { useAddComment } from '../run.ts'

export function TimelineTab({ document }: { document: RunDocument }) {
  const { run } = document
  return (
    <div className="rounded-lg border border-line bg-paper p-4">
      {[...Map.groupBy(timelineEntries(document), ({ at }) => DAY.format(new Date(at)))].map(([day, entries]) => (
        <section key={day} aria-label={day} className="mb-4">
          <h2 className="mb-2 text-dim">{day}</h2>
          <ol aria-label="Timeline" className="space-y-3">
            {entries.map((entry) => (
              <Entry key={entry.id} entry={entry} />
            ))}
          </ol>
        </section>
      ))}
      {run.attributes.permissions['can-comment'] && <CommentForm runId={run.id} />}
    </div>
  )
}

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

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
          <time dateTime={at} title={exactTime(at)} className="numeric text-dim">
            {CLOCK.format(new Date(at))}
          </time>
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

function eventEntry(event: RunEvent, { attributes }: Run): TimelineEntry {
  const { action, description, 'created-at': at } = event.attributes
  const base = { id: event.id, at, description: description ?? undefined, comment: event.comment }
  if (action === 'created') {
    // The event is recorded after the plan was queued.
    base.at = attributes['created-at']
    if (event.author !== undefined) {
      return { ...base, state: 'done', author: event.author, text: `created the run via ${originText(attributes)}` }
    }
    const source = attributes['triggering-source-name']
    return { ...base, state: 'done', text: source === null ? 'Run created' : `Run triggered by a run of ${source}` }
  }
  const { text, state } = EVENT_TEXTS[action] ?? { text: action.replaceAll('_', ' '), state: 'done' }
  // Team and organization tokens have no user.
  const author = event.author ?? EVENT_AUTHORS[action] ?? 'A token'
  // Some descriptions are the text of the event.
  return { ...base, state, author, text, ...(description === text && { description: undefined }) }
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

function stageEntries({ attributes, results, evaluations }: TaskStage): TimelineEntry[] {
  const names = results.map((result) => result.attributes['task-name']).join(', ')
  const text = `Run ${results.length === 1 ? 'task' : 'tasks'} ${names} started`
  const started = statusEntry(attributes.stage, attributes['status-timestamps'], 'running', { state: 'running', text })
  return [
    ...(results.length > 0 ? started : []),
    ...evaluations.flatMap(evaluationEntries),
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

function evaluationEntries({ id, attributes }: TaskStage['evaluations'][number]): TimelineEntry[] {
  const { message, 'status-timestamps': times } = attributes
  const entry = (status: string, state: StepState, text: string, description?: string) =>
    statusEntry(id, times, status, { state, text, description })
  const reason = message ?? undefined
  return [
    ...entry('running', 'running', 'Policies started'),
    ...entry('passed', reason === undefined ? 'done' : 'warning', 'Policies passed', reason),
    ...entry('failed', 'failed', 'Policies failed', reason),
    ...entry('errored', 'failed', 'Policies could not be evaluated', reason),
  ]
}
