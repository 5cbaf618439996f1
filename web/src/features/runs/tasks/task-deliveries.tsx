import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { taskDeliverySchema, taskResultSchema } from '@groundstate/contract/task-results'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Send } from 'lucide-react'
import { useState } from 'react'
import { get, request } from '../../../api/client.ts'
import { invalidate } from '../../../api/queries.ts'
import { Button } from '../../../components/button.tsx'
import { ErrorNote, loaded } from '../../../components/feedback.tsx'
import { counted } from '../../../components/numbers.ts'
import { toast } from '../../../components/overlay-hosts.tsx'
import { Badge } from '../../../components/status.tsx'
import { RelativeTime } from '../../../components/time.tsx'
import { Exchange } from '../../run-tasks/exchange.tsx'
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
        <div className="border-t border-line px-3 py-2">
          <Exchange title={`attempt ${attempt}`} request={sent} response={response} error={error} />
        </div>
      </details>
    </li>
  )
}
