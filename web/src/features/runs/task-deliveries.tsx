import { parseExact, printExact } from '@groundstate/contract/exact-json'
import { Send } from 'lucide-react'
import { useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { Pane } from '../../components/pane.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import type { TaskResult } from './run.ts'
import { type TaskDelivery, useRedeliver, useTaskDeliveries } from './tasks.ts'

/** The attempts at the request of a task, each with what was sent and what came back. */
export function TaskDeliveries({
  result,
  runId,
  mayRedeliver,
}: {
  result: TaskResult
  runId: string
  mayRedeliver: boolean
}) {
  const [isOpen, setIsOpen] = useState(false)
  const deliveries = useTaskDeliveries(result.id, isOpen)
  const failure = failureOf(deliveries)
  const data = failure ? undefined : deliveries.data
  return (
    <details className="mt-2" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary className="text-dim">
        {counted(result.attributes['delivery-attempts'], 'request')}
        <span className="sr-only"> to {result.attributes['task-name']}</span>
      </summary>
      <div className="mt-2 space-y-2">
        {failure && <ErrorNote {...failure} />}
        {isOpen && !data && !failure && <Skeleton rows={1} label="Loading the requests" />}
        {data?.data.length === 0 && result.attributes.status !== 'running' && (
          <p className="text-dim">What was sent and what came back is no longer kept.</p>
        )}
        <ol className="space-y-2">
          {data?.data.map((delivery) => (
            <Delivery key={delivery.id} delivery={delivery} />
          ))}
        </ol>
        {mayRedeliver && isOpen && <Redeliver result={result} runId={runId} />}
      </div>
    </details>
  )
}

function Redeliver({ result, runId }: { result: TaskResult; runId: string }) {
  const redeliver = useRedeliver(runId, result.id)
  const { status } = result.attributes
  return (
    <>
      <Button
        size="small"
        icon={Send}
        isPending={redeliver.isPending}
        reason={status === 'running' ? undefined : `the task is ${status}: only an open request is sent again`}
        onClick={() => redeliver.mutate()}
      >
        Redeliver
      </Button>
      {redeliver.error && <ErrorNote error={redeliver.error} />}
    </>
  )
}

function Delivery({ delivery: { attributes } }: { delivery: TaskDelivery }) {
  const { attempt, request, response, error } = attributes
  const isGood = response?.status === 200
  return (
    <li className="rounded-md border border-line">
      <details>
        <summary className="px-3 py-1.5">
          <span className="inline-flex flex-wrap items-center gap-x-2 align-middle">
            <span>Attempt {attempt}</span>
            <Badge tone={isGood ? 'good' : 'bad'}>{response ? `answer ${response.status}` : 'no response'}</Badge>
            <span className="numeric text-dim">{attributes['duration-ms'].toLocaleString('en')} ms</span>
            <span className="text-dim">
              <RelativeTime at={attributes['sent-at']} />
            </span>
            {attributes['agent-name'] !== null && (
              <span className="text-dim">by the agent {attributes['agent-name']}</span>
            )}
          </span>
        </summary>
        <div className="space-y-3 border-t border-line px-3 py-2">
          {error !== null && <p className="text-bad">{error}</p>}
          <Message
            title={`${request.method} ${request.url}`}
            label={`Request of attempt ${attempt}`}
            headers={request.headers}
            body={request.body}
          />
          {response && !response['is-withheld'] && (
            <Message
              title={`Answer ${response.status}`}
              label={`Answer to attempt ${attempt}`}
              headers={response.headers}
              body={response.body}
              note={response['is-truncated'] ? 'Only the start of the body was kept.' : undefined}
            />
          )}
          {response?.['is-withheld'] && (
            <p className="text-dim">
              The response came from a private address: its headers and body are for the administrators of this server.
            </p>
          )}
        </div>
      </details>
    </li>
  )
}

type Headers = Readonly<Record<string, string | readonly string[]>>

function Message({
  title,
  label,
  headers,
  body,
  note,
}: {
  title: string
  label: string
  headers: Headers
  body: string
  note?: string | undefined
}) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${[value].flat().join(', ')}`)
  const text = [...lines, '', pretty(body)].join('\n').trimEnd()
  return (
    <div>
      <div className="flex items-center justify-between gap-2">
        <p className="min-w-0 font-medium">{title}</p>
        <CopyButton text={body} label={`Copy the body: ${label}`} />
      </div>
      <Pane label={label} className="max-h-80 rounded-md border border-line bg-ground px-3 py-2">
        <pre className="font-mono text-[0.9285rem] whitespace-pre-wrap">{text}</pre>
      </Pane>
      {note !== undefined && <p className="mt-1 text-dim">{note}</p>}
    </div>
  )
}

/** JSON with indentation; every other text as it is. */
function pretty(body: string) {
  try {
    return printExact(parseExact(body), 2)
  } catch {
    return body
  }
}
