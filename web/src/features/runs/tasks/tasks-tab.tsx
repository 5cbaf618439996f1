import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { taskResultOutcomeSchema } from '@groundstate/contract/task-results'
import { useQuery } from '@tanstack/react-query'
import type { LucideIcon } from 'lucide-react'
import { CircleX, ExternalLink as ExternalLinkIcon, Info, ListChecks, TriangleAlert } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { ApiError, apiPath, get } from '../../../api/client.ts'
import { Card } from '../../../components/card.tsx'
import { EmptyState, loaded } from '../../../components/feedback.tsx'
import { ExternalLink, isWebAddress } from '../../../components/links.tsx'
import { Badge, StatusText, type Tone } from '../../../components/status.tsx'
import { Countdown, Elapsed, RelativeTime } from '../../../components/time.tsx'
import { PolicyResults } from '../policies/policy-results.tsx'
import { isAdvisoryFailure, resultStyle, stageState, STEP_STYLE, type StepState } from '../run-steps.tsx'
import { STAGE_TITLES } from '../run-text.ts'
import type { Run, TaskResult, TaskStage } from '../run.ts'
import { TaskDeliveries } from './task-deliveries.tsx'

export function TasksTab({ run, stages }: { run: Run; stages: readonly TaskStage[] }) {
  if (stages.length === 0) {
    const text =
      'A run task calls an external service before or after the plan or the apply: a security scan, a cost check, an external approval. Attach one to the workspace, and its next run will call it.'
    return <EmptyState icon={ListChecks} title="No run tasks" text={text} />
  }
  return (
    <div className="space-y-4">
      {stages.map((stage) => (
        <div key={stage.id} className="space-y-4">
          {(stage.results.length > 0 || stage.evaluations.length === 0) && (
            <StageCard stage={stage} mayRedeliver={run.attributes.permissions['can-apply']} />
          )}
          <PolicyResults stage={stage} />
        </div>
      ))}
    </div>
  )
}

const MISSING_RESULTS: Partial<Record<StepState, string>> = {
  pending: 'Not started yet',
  skipped: 'Not started: the run ended before this stage.',
}

export function StageCard({ stage, mayRedeliver }: { stage: TaskStage; mayRedeliver: boolean }) {
  const { state, text } = stageState(stage)
  const status = <StatusText {...STEP_STYLE[state]} text={text} isBusy={state === 'running'} />
  const missing = MISSING_RESULTS[state]
  const runId = stage.relationships.run.data?.id ?? ''
  return (
    <div id={stage.id} className="scroll-mt-20">
      <Card title={STAGE_TITLES[stage.attributes.stage]} isFlush actions={status}>
        {missing === undefined ? (
          <ul className="divide-y divide-line border-t border-line">
            {stage.results.map((result) => (
              <TaskResultItem key={result.id} {...{ result, runId, mayRedeliver }} />
            ))}
          </ul>
        ) : (
          <p className="px-4 pb-3 text-dim">{missing}</p>
        )}
      </Card>
    </div>
  )
}

type TaskResultItemProps = { result: TaskResult; runId: string; mayRedeliver: boolean }

function TaskResultItem({ result, runId, mayRedeliver }: TaskResultItemProps) {
  const { attributes } = result
  const name = attributes['task-name']
  const isRunning = attributes.status === 'running'
  const times = attributes['status-timestamps']
  const startedAt = times['running-at']
  const endedAt = isRunning ? undefined : (times[`${attributes.status}-at`] ?? startedAt)
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="min-w-0 font-medium">{name}</h3>
        <Badge>{attributes['workspace-task-enforcement-level']}</Badge>
        <span className="ml-auto flex flex-wrap items-center gap-x-2">
          {startedAt !== undefined && <Elapsed from={startedAt} to={endedAt} className="text-dim" />}
          <StatusText {...resultStyle(result)} isBusy={isRunning} />
        </span>
      </div>
      {isAdvisoryFailure(result) && <p className="mt-1 text-warn">Advisory: does not stop the run</p>}
      {attributes.message !== '' && <p className="mt-1 whitespace-pre-line">{attributes.message}</p>}
      {isRunning && <DeliveryStatus attributes={attributes} />}
      <p className="mt-1 empty:hidden">
        <DetailsLink url={attributes.url} of={name} />
      </p>
      {attributes['task-result-outcomes-count'] > 0 && <TaskOutcomes resultId={result.id} />}
      {attributes['delivery-attempts'] > 0 && (
        <TaskDeliveries result={result} runId={runId} mayRedeliver={mayRedeliver} />
      )}
    </li>
  )
}

function DeliveryStatus({ attributes }: { attributes: TaskResult['attributes'] }) {
  const { 'deadline-at': deadline, 'next-delivery-at': next, 'delivered-at': delivered } = attributes
  const hasFailed = delivered === null && next !== null && attributes['delivery-attempts'] > 0
  return (
    <p className="mt-1 text-dim">
      {delivered !== null && ['Request delivered ', <RelativeTime key="delivered" at={delivered} />, '. ']}
      {hasFailed && ['Delivery failed, next attempt in ', <Countdown key="next" to={next} />, '. ']}
      {deadline !== null && [<Countdown key="deadline" to={deadline} />, ' left to report a result.']}
    </p>
  )
}

const MarkdownText = lazy(async () => import('../../../components/markdown.tsx'))

export type TaskOutcome = Pick<Wire<typeof taskResultOutcomeSchema>, 'id' | 'attributes' | 'links'>
type TagGroup = TaskOutcome['attributes']['tags'][number]

/** The first 100 outcomes of a task result. */
function TaskOutcomes({ resultId }: { resultId: string }) {
  const query = useQuery({
    queryKey: ['task-results', resultId, 'outcomes'],
    queryFn: async () =>
      get<PageOnWire<typeof taskResultOutcomeSchema>>(`/task-results/${resultId}/outcomes?page[size]=100`),
  })
  const { data, fallback } = loaded(query, { rows: 2, label: 'Loading outcomes' })
  if (!data) return fallback
  return <OutcomeList outcomes={data.data} total={data.meta.pagination['total-count']} />
}

export function OutcomeList({ outcomes, total }: { outcomes: readonly TaskOutcome[]; total: number }) {
  return (
    <>
      <ul aria-label="Outcomes" className="mt-2 divide-y divide-line rounded-md border border-line">
        {outcomes.map((outcome) => (
          <Outcome key={outcome.id} outcome={outcome} />
        ))}
      </ul>
      {total > outcomes.length && <p className="mt-2 text-dim">{`Showing ${outcomes.length} of ${total}`}</p>}
    </>
  )
}

function Outcome({ outcome }: { outcome: TaskOutcome }) {
  const { attributes } = outcome
  const [isOpen, setIsOpen] = useState(false)
  const id = attributes['outcome-id']
  return (
    <li className="px-3 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        {attributes.tags
          .toSorted((a, b) => Number(isProminent(b)) - Number(isProminent(a)))
          .map((group) => (
            <Tags key={group.label} group={group} />
          ))}
        <span className="min-w-0 wrap-anywhere">{attributes.description}</span>
        <span className="min-w-0 font-mono text-xs wrap-anywhere text-dim">{id}</span>
        <DetailsLink url={attributes.url} of={id} />
      </div>
      {attributes['has-body'] && (
        <details className="mt-1" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
          <summary className="text-dim">
            Full text<span className="sr-only"> of {id}</span>
          </summary>
          <div className="mt-2 border-l-2 border-line pl-3">{isOpen && <OutcomeBody outcome={outcome} />}</div>
        </details>
      )}
    </li>
  )
}

/** Link to a page of the run task's service; nothing unless the URL is HTTP or HTTPS. */
function DetailsLink({ url, of }: { url: string | null; of: string }) {
  if (url === null || !isWebAddress(url)) return null
  return (
    <ExternalLink href={url} className="inline-flex items-center gap-1">
      Details<span className="sr-only"> of {of}, in a new tab</span>
      <ExternalLinkIcon size={13} />
    </ExternalLink>
  )
}

/** The Markdown body of an outcome, up to several MB; loaded when the user expands it. */
function OutcomeBody({ outcome }: { outcome: TaskOutcome }) {
  const query = useQuery({
    queryKey: ['task-result-outcomes', outcome.id, 'body'],
    enabled: outcome.links.body !== undefined,
    // Change events name the task result, not its outcomes.
    meta: { dependsOn: ['task-results'] },
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const response = await fetch(apiPath(`/task-result-outcomes/${outcome.id}/body`), { signal })
      if (!response.ok) throw new ApiError(response.status, [])
      return response.text()
    },
  })
  const { data, fallback } = loaded(query, { rows: 2, label: 'Loading the full text' })
  if (data === undefined) return fallback
  return (
    <Suspense fallback={fallback}>
      <MarkdownText text={data} />
    </Suspense>
  )
}

function Tags({ group }: { group: TagGroup }) {
  return (
    <span className="inline-flex min-w-0 flex-wrap items-center gap-1">
      <span className={isProminent(group) ? 'sr-only' : 'min-w-0 wrap-anywhere text-dim'}>{group.label}:</span>
      {group.value.map(({ label, level }, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- a run task may repeat a tag
        <Badge key={index} tone={LEVELS[level].tone} icon={LEVELS[level].icon}>
          <span className="min-w-0 wrap-anywhere whitespace-normal">
            {isProminent(group) ? <strong>{label}</strong> : label}
          </span>
        </Badge>
      ))}
    </span>
  )
}

/** Severity and status come first and need no visible label. Run tasks vary in the case of these names. */
function isProminent({ label }: TagGroup) {
  return ['severity', 'status'].includes(label.toLowerCase())
}

const LEVELS = {
  none: { tone: 'quiet', icon: undefined },
  info: { tone: 'busy', icon: Info },
  warning: { tone: 'warn', icon: TriangleAlert },
  error: { tone: 'bad', icon: CircleX },
} as const satisfies Record<TagGroup['value'][number]['level'], { tone: Tone; icon: LucideIcon | undefined }>
