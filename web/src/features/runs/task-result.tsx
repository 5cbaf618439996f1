import { Ban, CircleAlert, CircleCheck, CircleDashed, CircleX, ExternalLink, LoaderCircle } from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import { Badge, StatusText, type Tone } from '../../components/status.tsx'
import { RelativeTime, Elapsed } from '../../components/time.tsx'
import { isWebAddress } from '../../components/web-address.ts'
import { Countdown } from './countdown.tsx'
import { isAdvisoryFailure } from './run-stages.ts'
import type { TaskResult } from './run.ts'
import { TaskDeliveries } from './task-deliveries.tsx'
import { TaskOutcomes } from './task-outcomes.tsx'

type Status = TaskResult['attributes']['status']

const LOOKS = {
  pending: { tone: 'quiet', icon: CircleDashed, text: 'not asked yet' },
  running: { tone: 'busy', icon: LoaderCircle, text: 'waiting for the response' },
  passed: { tone: 'good', icon: CircleCheck, text: 'passed' },
  failed: { tone: 'bad', icon: CircleX, text: 'failed' },
  errored: { tone: 'bad', icon: CircleX, text: 'errored' },
  canceled: { tone: 'quiet', icon: Ban, text: 'canceled' },
  unreachable: { tone: 'bad', icon: CircleX, text: 'unreachable' },
} as const satisfies Record<Status, { tone: Tone; icon: LucideIcon; text: string }>

/** The look of a verdict; a failure that stops nothing is a warning. */
export function verdictLook(result: Pick<TaskResult, 'attributes'>): { tone: Tone; icon: LucideIcon; text: string } {
  const look = LOOKS[result.attributes.status]
  return isAdvisoryFailure(result) ? { tone: 'warn', icon: CircleAlert, text: `${look.text}, advisory` } : look
}

/** What one task said: its verdict, its message, its findings, and how it was asked. */
export function TaskResultItem({
  result,
  runId,
  mayRedeliver,
}: {
  result: TaskResult
  runId: string
  mayRedeliver: boolean
}) {
  const { attributes } = result
  const { tone, icon, text } = verdictLook(result)
  const name = attributes['task-name']
  const isWaiting = attributes.status === 'running'
  const times = attributes['status-timestamps']
  const begun = times['running-at']
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="min-w-0 font-medium">{name}</h3>
        <Badge>{attributes['workspace-task-enforcement-level']}</Badge>
        <span className="ml-auto flex flex-wrap items-center gap-x-2">
          {begun !== undefined && (
            <span className="text-dim">
              <Elapsed from={begun} to={isWaiting ? undefined : (times[`${attributes.status}-at`] ?? begun)} />
            </span>
          )}
          <StatusText tone={tone} icon={icon} isBusy={isWaiting}>
            {text}
          </StatusText>
        </span>
      </div>
      {isAdvisoryFailure(result) && <p className="mt-1 text-warn">It is advisory: it does not stop the run.</p>}
      {attributes.message !== '' && <p className="mt-1 whitespace-pre-line">{attributes.message}</p>}
      {isWaiting && <Waiting attributes={attributes} />}
      {isWebAddress(attributes.url) && (
        <p className="mt-1">
          <a
            href={attributes.url}
            target="_blank"
            rel="noreferrer noopener"
            className="inline-flex items-center gap-1 text-accent underline"
          >
            Details<span className="sr-only"> of {name}, in a new tab</span>
            <ExternalLink size={13} aria-hidden="true" />
          </a>
        </p>
      )}
      {attributes['task-result-outcomes-count'] > 0 && <TaskOutcomes resultId={result.id} />}
      {attributes['delivery-attempts'] > 0 && (
        <TaskDeliveries result={result} runId={runId} mayRedeliver={mayRedeliver} />
      )}
    </li>
  )
}

/** What has become of the request so far, and how long the receiver has. */
function Waiting({ attributes }: { attributes: TaskResult['attributes'] }) {
  const deadline = attributes['deadline-at']
  const next = attributes['next-delivery-at']
  const delivered = attributes['delivered-at']
  return (
    <p className="mt-1 text-dim">
      {delivered !== null && (
        <>
          The receiver got the request <RelativeTime at={delivered} />.{' '}
        </>
      )}
      {delivered === null && next !== null && attributes['delivery-attempts'] > 0 && (
        <>
          The request has not arrived; it is sent again in <Countdown to={next} />.{' '}
        </>
      )}
      {deadline !== null && (
        <>
          It has <Countdown to={deadline} /> left to answer.
        </>
      )}
    </p>
  )
}
