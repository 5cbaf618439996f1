import { Bell, SearchX, Send } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { EmptyState, ErrorNote, Notice, loaded } from '../../components/feedback.tsx'
import { FilterChips } from '../../components/filters.tsx'
import { FoldedItem } from '../../components/folded-item.tsx'
import { type Target, WorkspaceLink } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Pager } from '../../components/pager.tsx'
import { OUTCOME_STYLE, StatusText } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { Exchange } from '../run-tasks/exchange.tsx'
import { milliseconds } from '../run-tasks/task-health.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { useNotificationSearch } from './notification-place.ts'
import { NotificationStatus, STATUS } from './notification-status.tsx'
import {
  type Configuration,
  type Notification,
  type NotificationDelivery,
  useDeliveries,
  useNotifications,
  useRedeliver,
} from './notifications.ts'
import { TRIGGERS } from './triggers.ts'

const CHIPS = (['delivered', 'failed', 'pending', 'canceled'] as const).map((value) => ({ value, ...STATUS[value] }))

type LogProps = { organization: string; place: Target; configuration: Configuration }

/** The notifications of a configuration, latest first. The URL has the filter and the open one. */
export function NotificationLog({ organization, place, configuration }: LogProps) {
  const { id } = configuration
  const [{ status, page, delivery: open }, go] = useNotificationSearch(place)
  const query = useNotifications(organization, id, { status, page })
  const { data, fallback } = loaded(query, { rows: 5, label: 'Loading the log' })
  const rows = data?.data ?? []
  const isUnfiltered = status === undefined && page === undefined
  const isFresh = data !== undefined && rows.length === 0 && isUnfiltered
  return (
    <Card
      title="Log"
      about="The notifications of the last weeks, with each request and response."
      isFlush={rows.length > 0}
    >
      {!isFresh && (
        <div className={rows.length > 0 ? 'px-4 pb-3' : 'pb-3'}>
          <FilterChips
            label="Status"
            chips={CHIPS}
            selected={new Set(status === undefined ? [] : [status])}
            onToggle={(value) => go({ notification: id, status: value === status ? undefined : value })}
          />
        </div>
      )}
      {!data && fallback}
      {isFresh && (
        <EmptyState icon={Bell} title="Nothing sent yet">
          <p>
            {configuration.attributes.enabled
              ? 'The next event sends a notification.'
              : 'Enable the notification to send one with the next event.'}
          </p>
        </EmptyState>
      )}
      {data && rows.length === 0 && !isFresh && (
        <EmptyState
          icon={SearchX}
          title={page === undefined ? 'No notifications match' : 'No notifications on this page'}
          actions={<Button label="Clear filters" onClick={() => go({ notification: id })} />}
        />
      )}
      {rows.length > 0 && (
        <ol className="divide-y divide-line border-t border-line">
          {rows.map((row) => (
            <LogEntry
              key={row.id}
              {...{ organization, configuration }}
              notification={row}
              isOpen={row.id === open}
              onToggle={() =>
                go(
                  { notification: id, status, page, delivery: row.id === open ? undefined : row.id },
                  { replace: true },
                )
              }
            />
          ))}
        </ol>
      )}
      <div className={rows.length > 0 ? 'px-4 pb-3 empty:hidden' : ''}>
        <Pager
          pagination={data?.meta.pagination}
          onPage={(number) => go({ notification: id, status, page: number === 1 ? undefined : number })}
        />
      </div>
    </Card>
  )
}

type EntryProps = {
  organization: string
  configuration: Configuration
  notification: Notification
  isOpen: boolean
  onToggle: () => void
}

function LogEntry({ organization, configuration, notification, isOpen, onToggle }: EntryProps) {
  const { trigger, status, attempts, message, ...attributes } = notification.attributes
  const { 'run-id': run, 'run-message': runMessage, 'workspace-name': workspace } = attributes
  return (
    <FoldedItem
      {...{ isOpen, onToggle }}
      label={
        <>
          <NotificationStatus status={status} attempts={attempts} />
          <span className="font-medium">{TRIGGERS[trigger].text}</span>
        </>
      }
      content={() => <OpenEntry {...{ organization, configuration, notification }} />}
    >
      <span className="min-w-0 flex-1 basis-48">
        {workspace !== null && <WorkspaceLink workspace={workspace} className="hover:underline" />}
        {workspace !== null && run !== null && (
          <>
            {' · '}
            <RunLink
              workspace={workspace}
              run={{ id: run, attributes: { message: runMessage ?? '' } }}
              className="text-accent hover:underline"
            />
          </>
        )}
        {message !== '' && <span className="text-dim">{workspace === null ? message : ` · ${message}`}</span>}
      </span>
      {attempts > 1 && <span className="numeric text-dim">{counted(attempts, 'attempt')}</span>}
      <RelativeTime at={attributes['created-at']} className="text-dim" />
    </FoldedItem>
  )
}

type OpenEntryProps = Pick<EntryProps, 'organization' | 'configuration' | 'notification'>

function OpenEntry({ organization, configuration, notification }: OpenEntryProps) {
  const redeliver = useRedeliver(organization)
  const { status, error, permissions, 'next-attempt-at': next } = notification.attributes
  const isPending = status === 'pending'
  return (
    <div className="space-y-3">
      {permissions['can-redeliver'] ? (
        <>
          {status === 'delivered' && error !== null && <Notice tone="warn">Delivered, but {error}.</Notice>}
          <Attempts organization={organization} notification={notification} />
        </>
      ) : (
        <>
          {error !== null && <p className="text-bad">{error}</p>}
          <p className="text-dim">Only users who manage the notification see what was sent and received.</p>
        </>
      )}
      {next !== null && isPending && (
        <p className="text-dim">
          Next attempt <RelativeTime at={next} />
        </p>
      )}
      {permissions['can-redeliver'] && (
        <Button
          size="small"
          icon={Send}
          label={isPending ? 'Send now' : 'Redeliver'}
          isPending={redeliver.isPending}
          reason={configuration.attributes.enabled ? undefined : 'the notification is disabled: enable it first'}
          onClick={() => redeliver.mutate(notification.id, { onSuccess: () => toast({ text: 'Delivery requested' }) })}
        />
      )}
      {redeliver.error && <ErrorNote error={redeliver.error} />}
    </div>
  )
}

function Attempts({ organization, notification }: Pick<EntryProps, 'organization' | 'notification'>) {
  const { data, fallback } = loaded(useDeliveries(organization, notification.id), { rows: 2 })
  const { error, attempts } = notification.attributes
  if (!data) return fallback
  if (data.length === 0)
    return (
      <p className="text-dim">{error ?? (attempts === 0 ? 'Not sent yet.' : 'The attempts are no longer kept.')}</p>
    )
  return data.map((delivery, index) => <Attempt key={delivery.id} delivery={delivery} isOpen={index === 0} />)
}

function Attempt({ delivery, isOpen }: { delivery: NotificationDelivery; isOpen: boolean }) {
  const { attempt, status, request, response, error, ...attributes } = delivery.attributes
  return (
    <details open={isOpen} className="rounded-md border border-line px-3 py-2">
      <summary className="cursor-pointer">
        <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1 align-middle">
          <StatusText
            {...(status === 'succeeded' ? OUTCOME_STYLE.done : OUTCOME_STYLE.failed)}
            text={response ? `response ${response.status}` : 'no response'}
          />
          <span className="numeric text-dim">
            <span className="sr-only">attempt </span>#{attempt}
          </span>
          <span className="numeric text-dim">{milliseconds(attributes['duration-ms'])}</span>
          <RelativeTime at={attributes['sent-at']} className="text-dim" />
        </span>
      </summary>
      <div className="mt-2">
        <Exchange title={`attempt ${attempt}`} request={request} response={response} error={error} />
      </div>
    </details>
  )
}
