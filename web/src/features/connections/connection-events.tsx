import { CircleX, Info, ListChecks } from 'lucide-react'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { Pager } from '../../components/pager.tsx'
import { StatusText } from '../../components/status.tsx'
import { RelativeTime, withLocalTimes } from '../../components/time.tsx'
import { connectionRoute, useVcsEvents } from './connections.ts'

/** Recent events of the connection, with what to do. */
export function ConnectionEvents({ organization, connectionId }: { organization: string; connectionId: string }) {
  const { page } = connectionRoute.useSearch()
  const navigate = connectionRoute.useNavigate()
  const { data, fallback } = loaded(useVcsEvents(organization, connectionId, page), { label: 'Loading the events' })
  if (!data) return fallback
  if (data.data.length === 0)
    return (
      <EmptyState
        icon={ListChecks}
        title="No events"
        text="Refused tokens, webhooks that could not be created and limits of the host in the last 30 days are listed here."
      />
    )
  return (
    <>
      <ol aria-label="Events" className="divide-y divide-line rounded-lg border border-line bg-paper">
        {data.data.map(({ id, attributes }) => (
          <li key={id} className="flex flex-wrap items-start gap-x-3 gap-y-1 px-4 py-2.5">
            <StatusText
              tone={attributes.level === 'error' ? 'bad' : 'quiet'}
              icon={attributes.level === 'error' ? CircleX : Info}
              text={attributes.level === 'error' ? 'Error' : 'Info'}
            />
            <div className="min-w-0 flex-1 basis-64">
              <p className="break-words">{withLocalTimes(attributes.message)}</p>
              {attributes['suggested-action'] !== null && <p className="text-dim">{attributes['suggested-action']}</p>}
            </div>
            <RelativeTime at={attributes['created-at']} className="text-dim" />
          </li>
        ))}
      </ol>
      <Pager
        pagination={data.meta.pagination}
        onPage={(number) =>
          void navigate({ search: (before) => ({ ...before, page: number === 1 ? undefined : number }) })
        }
      />
    </>
  )
}
