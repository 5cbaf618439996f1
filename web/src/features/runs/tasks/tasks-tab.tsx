import {
  Ban,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleX,
  ListChecks,
  LoaderCircle,
  type LucideIcon,
} from 'lucide-react'
import { Card } from '../../../components/card.tsx'
import { EmptyState } from '../../../components/feedback.tsx'
import { Badge, StatusText, type Tone } from '../../../components/status.tsx'
import { RelativeTime, Countdown, Elapsed } from '../../../components/time.tsx'
import { isAdvisoryFailure, stageState, type StepState } from '../run-steps.ts'
import { STAGE_TITLES } from '../run-text.ts'
import type { Run, TaskResult, TaskStage } from '../run.ts'
import { STEP_STYLE } from '../stage-strip.tsx'
import { TaskDeliveries } from './task-deliveries.tsx'
import { DetailsLink, TaskOutcomes } from './task-outcomes.tsx'

/** The results of the run tasks, by stage. */
export function TasksTab({ run, stages }: { run: Run; stages: readonly TaskStage[] }) {
  if (stages.length === 0) {
    const text =
      'A run task calls an external service before or after the plan or the apply: a security scan, a cost check, an external approval. Attach one to the workspace, and its next run will call it.'
    return <EmptyState icon={ListChecks} title="No run tasks" text={text} />
  }
  return (
    <div className="space-y-4">
      {stages.map((stage) => (
        <StageCard key={stage.id} stage={stage} mayRedeliver={run.attributes.permissions['can-apply']} />
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

type ResultStyle = { tone: Tone; icon: LucideIcon; text: string }

const RESULT_STYLE: Record<TaskResult['attributes']['status'], ResultStyle> = {
  pending: { tone: 'quiet', icon: CircleDashed, text: 'pending' },
  running: { tone: 'busy', icon: LoaderCircle, text: 'waiting for result' },
  passed: { tone: 'good', icon: CircleCheck, text: 'passed' },
  failed: { tone: 'bad', icon: CircleX, text: 'failed' },
  errored: { tone: 'bad', icon: CircleX, text: 'errored' },
  canceled: { tone: 'quiet', icon: Ban, text: 'canceled' },
  unreachable: { tone: 'bad', icon: CircleX, text: 'unreachable' },
}

/** Icon, colour and text of a result; an advisory failure looks like a warning. */
export function resultStyle(result: Pick<TaskResult, 'attributes'>): ResultStyle {
  const style = RESULT_STYLE[result.attributes.status]
  return isAdvisoryFailure(result) ? { tone: 'warn', icon: CircleAlert, text: `${style.text}, advisory` } : style
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

/** The delivery of a pending request, and its deadline. */
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
