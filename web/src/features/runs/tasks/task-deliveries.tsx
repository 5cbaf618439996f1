import { parseExact, printExact } from '@groundstate/contract/exact-json'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { taskDeliverySchema, taskResultSchema } from '@groundstate/contract/task-results'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { useState } from 'react'
import { get, request } from '../../../api/client.ts'
import { invalidate } from '../../../api/queries.ts'
import { Button } from '../../../components/button.tsx'
import { CopyButton } from '../../../components/copy.tsx'
import { ErrorNote, loaded } from '../../../components/feedback.tsx'
import { counted } from '../../../components/numbers.ts'
import { toast } from '../../../components/overlay-hosts.tsx'
import { Pane } from '../../../components/pane.tsx'
import { Badge } from '../../../components/status.tsx'
import { RelativeTime } from '../../../components/time.tsx'
import type { TaskResult } from '../run.ts'

type DeliveriesProps = { result: TaskResult; runId: string; mayRedeliver: boolean }

/** The delivery attempts of a run task's request, oldest first, each with its request and response. */
export function TaskDeliveries({ result, runId, mayRedeliver }: DeliveriesProps) {
  const [isOpen, setIsOpen] = useState(false)
  const deliveries = useQuery({
    queryKey: ['deliveries', result.id],
    enabled: isOpen,
    queryFn: async () =>
      get<PageOnWire<typeof taskDeliverySchema>>(`/task-results/${result.id}/deliveries?page[size]=100`),
  })
  const { data, fallback } = loaded(deliveries, { rows: 1, label: 'Loading deliveries' })
  return (
    <details className="mt-2" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary className="text-dim">
        {counted(result.attributes['delivery-attempts'], 'request')}
        <span className="sr-only"> to {result.attributes['task-name']}</span>
      </summary>
      <div className="mt-2 space-y-2">
        {isOpen && !data && fallback}
        {data?.data.length === 0 && result.attributes.status !== 'running' && (
          <p className="text-dim">These deliveries have been deleted.</p>
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

function Redeliver({ result, runId }: Omit<DeliveriesProps, 'mayRedeliver'>) {
  const redeliver = useMutation({
    mutationFn: async () =>
      request<DocumentOnWire<typeof taskResultSchema>>('POST', `/task-results/${result.id}/actions/redeliver`),
    onSuccess: () => toast({ text: 'Redelivery requested' }),
    onSettled: async () => invalidate(['runs', runId]),
  })
  const { status } = result.attributes
  return (
    <>
      <Button
        size="small"
        icon={Send}
        label="Redeliver"
        isPending={redeliver.isPending}
        reason={status === 'running' ? undefined : `the task is ${status}; only pending requests can be redelivered`}
        onClick={() => redeliver.mutate()}
      />
      {redeliver.error && <ErrorNote error={redeliver.error} />}
    </>
  )
}

function Delivery({ delivery: { attributes } }: { delivery: Wire<typeof taskDeliverySchema> }) {
  const { attempt, request: sent, response, error, 'agent-name': agent } = attributes
  return (
    <li className="rounded-md border border-line">
      <details>
        <summary className="px-3 py-1.5">
          <span className="inline-flex flex-wrap items-center gap-x-2 align-middle">
            <span>Attempt {attempt}</span>
            <Badge
              tone={response?.status === 200 ? 'good' : 'bad'}
              text={response ? `response ${response.status}` : 'no response'}
            />
            <span className="numeric text-dim">{attributes['duration-ms'].toLocaleString('en')} ms</span>
            <RelativeTime at={attributes['sent-at']} className="text-dim" />
            {agent !== null && <span className="text-dim">agent {agent}</span>}
          </span>
        </summary>
        <div className="space-y-3 border-t border-line px-3 py-2">
          {error !== null && <p className="text-bad">{error}</p>}
          <Message title={`${sent.method} ${sent.url}`} label={`Request of attempt ${attempt}`} {...sent} />
          {response && !response['is-withheld'] && (
            <Message title={`Response ${response.status}`} label={`Response to attempt ${attempt}`} {...response} />
          )}
          {response?.['is-truncated'] && !response['is-withheld'] && <p className="text-dim">Body truncated</p>}
          {response?.['is-withheld'] && (
            <p className="text-dim">
              The response came from a private address: only site administrators can read its headers and body.
            </p>
          )}
        </div>
      </details>
    </li>
  )
}

type Headers = Readonly<Record<string, string | readonly string[]>>
type MessageProps = { title: string; label: string; headers: Headers; body: string }

function Message({ title, label, headers, body }: MessageProps) {
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
    </div>
  )
}

/** Indents JSON; returns any other text unchanged. */
function pretty(body: string) {
  try {
    return printExact(parseExact(body), 2)
  } catch {
    return body
  }
}
