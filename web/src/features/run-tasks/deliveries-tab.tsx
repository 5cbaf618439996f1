import { CircleCheck, CircleX, SearchX, Send } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, ErrorNote, loaded } from '../../components/feedback.tsx'
import { FilterChips } from '../../components/filters.tsx'
import { FoldedItem } from '../../components/folded-item.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { type DeliveryOfTask, useRedeliver, useTaskDeliveries } from './deliveries.ts'
import { Exchange } from './exchange.tsx'
import { taskRoute, useChangeTaskSearch } from './run-tasks.ts'
import { milliseconds } from './task-health.tsx'
import { STAGES, type Task } from './workspace-tasks.ts'

const CHIPS = [
  { value: 'succeeded', text: 'Delivered', icon: CircleCheck, tone: 'good' },
  { value: 'failed', text: 'Failed', icon: CircleX, tone: 'bad' },
] as const

/** The deliveries of a task over all runs, latest first. The URL has the filter and the open delivery. */
export default function DeliveriesTab({ task }: { task: Task }) {
  const { organization } = taskRoute.useParams()
  const { status: statuses, page, delivery } = taskRoute.useSearch()
  // Both together are no filter.
  const status = statuses?.includes(',') ? undefined : statuses
  const change = useChangeTaskSearch()
  const { data, fallback } = loaded(useTaskDeliveries(organization, task.id, { status, page }), {
    rows: 8,
    label: 'Loading the deliveries',
  })
  const rows = data?.data ?? []
  if (data && rows.length === 0 && status === undefined && page === undefined) {
    return (
      <EmptyState icon={Send} title="No deliveries yet">
        <p>
          Each run at a stage of this task sends a request. Deliveries are kept for 30 days by default.{' '}
          <DocsLink page="run-tasks" anchor="debug-a-receiver">
            Debug a receiver
          </DocsLink>
        </p>
      </EmptyState>
    )
  }
  return (
    <div>
      <div className="mb-3">
        <FilterChips
          label="Status"
          chips={CHIPS}
          selected={new Set(status === undefined ? [] : [status])}
          onToggle={(value) => change({ status: value === status ? undefined : value, page: undefined })}
        />
      </div>
      {!data && fallback}
      {data && rows.length === 0 && (
        <EmptyState
          icon={SearchX}
          title={page === undefined ? 'No deliveries match' : 'No deliveries on this page'}
          actions={<Button label="Clear filters" onClick={() => change({ status: undefined, page: undefined })} />}
        />
      )}
      {rows.length > 0 && (
        <ol className="divide-y divide-line rounded-lg border border-line bg-paper">
          {rows.map((row) => (
            <Delivery
              key={row.id}
              delivery={row}
              isOpen={row.id === delivery}
              onToggle={() => change({ delivery: row.id === delivery ? undefined : row.id }, { replace: true })}
            />
          ))}
        </ol>
      )}
      <Pager
        pagination={data?.meta.pagination}
        onPage={(number) => change({ page: number === 1 ? undefined : number, delivery: undefined })}
      />
    </div>
  )
}

type DeliveryProps = { delivery: DeliveryOfTask; isOpen: boolean; onToggle: () => void }

function Delivery({ delivery, isOpen, onToggle }: DeliveryProps) {
  const { attributes } = delivery
  const { attempt, stage, response, status, 'agent-name': agent, 'run-id': run } = attributes
  const workspace = attributes['workspace-name']
  const isDelivered = status === 'succeeded'
  return (
    <FoldedItem
      {...{ isOpen, onToggle }}
      label={
        <>
          <Badge
            tone={isDelivered ? 'good' : 'bad'}
            icon={isDelivered ? CircleCheck : CircleX}
            text={response ? `response ${response.status}` : 'no response'}
          />
          <span className="sr-only">, attempt</span>
          <span className="numeric">#{attempt}</span>
        </>
      }
      content={() => <OpenDelivery delivery={delivery} />}
    >
      <span className="min-w-0 flex-1 basis-48">
        {run !== null && workspace !== null && stage !== null ? (
          <>
            <RunLink
              workspace={workspace}
              run={{ id: run }}
              search={{ part: 'tasks' }}
              className="font-medium hover:underline"
            >
              {workspace}
            </RunLink>
            <span className="text-dim"> · {STAGES[stage].text}</span>
          </>
        ) : (
          <span className="text-dim">a run you can’t see</span>
        )}
      </span>
      {agent !== null && <span className="text-dim">agent {agent}</span>}
      <span className="numeric text-dim">{milliseconds(attributes['duration-ms'])}</span>
      <RelativeTime at={attributes['sent-at']} className="text-dim" />
    </FoldedItem>
  )
}

function OpenDelivery({ delivery: { attributes, relationships } }: { delivery: DeliveryOfTask }) {
  const { organization } = taskRoute.useParams()
  const redeliver = useRedeliver(organization)
  const { request, response, error, permissions, 'result-status': result, 'next-attempt-at': next } = attributes
  const resultId = relationships['task-result'].data?.id
  return (
    <div className="space-y-3">
      <Exchange title={`attempt ${attributes.attempt}`} request={request} response={response} error={error} />
      {request === null && <p className="text-dim">Only users who may read the run see what was sent and received.</p>}
      {next !== null && result === 'running' && (
        <p className="text-dim">
          Next attempt <RelativeTime at={next} />
        </p>
      )}
      {resultId !== undefined && (
        <Button
          size="small"
          icon={Send}
          label="Redeliver"
          isPending={redeliver.isPending}
          reason={redeliveryObstacle(permissions['can-redeliver'], result)}
          onClick={() => redeliver.mutate(resultId, { onSuccess: () => toast({ text: 'Redelivery requested' }) })}
        />
      )}
      {redeliver.error && <ErrorNote error={redeliver.error} />}
    </div>
  )
}

function redeliveryObstacle(mayRedeliver: boolean, result: string | null) {
  if (!mayRedeliver) return 'requires permission to apply runs of the workspace'
  return result === 'running' ? undefined : `the result is ${result}; only pending requests can be redelivered`
}
