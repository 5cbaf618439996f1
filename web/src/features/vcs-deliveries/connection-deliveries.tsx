import { DELIVERY_STATUSES } from '@groundstate/contract/vcs-deliveries'
import { SearchX, Webhook } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { FilterChips } from '../../components/filters.tsx'
import { Pager } from '../../components/pager.tsx'
import { Picker } from '../../components/picker.tsx'
import { connectionRoute, findConnectionRepositories } from '../connections/connections.ts'
import { DELIVERY_STYLE, DeliveryItem } from './delivery-item.tsx'
import { useDeliveries, useDelivery } from './vcs-deliveries.ts'

const CHIPS = DELIVERY_STATUSES.map((value) => ({ value, ...DELIVERY_STYLE[value] }))

type DeliveriesProps = { organization: string; connectionId: string; mayManage: boolean }

/** The deliveries of a connection's host, the newest first. The URL has the filters and the open delivery. */
export function ConnectionDeliveries({ organization, connectionId, mayManage }: DeliveriesProps) {
  const { status, repository, delivery: openId, page } = connectionRoute.useSearch()
  const navigate = connectionRoute.useNavigate()
  const change = (changes: ReturnType<typeof connectionRoute.useSearch>, replace = false) =>
    void navigate({ search: (before) => ({ ...before, ...changes }), replace, resetScroll: false })
  const query = useDeliveries(organization, connectionId, { status, repository, page })
  const { data, fallback } = loaded(query, { rows: 8, label: 'Loading the deliveries' })
  const linked = useDelivery(organization, openId).data
  const rows = data?.data ?? []
  const isFiltered = status !== undefined || repository !== undefined
  const isListed = rows.some(({ id }) => id === openId)
  const shown = linked && !isListed && data ? [linked, ...rows] : rows
  if (data && shown.length === 0 && !isFiltered && page === undefined)
    return (
      <EmptyState icon={Webhook} title="No deliveries yet">
        <p>
          Each push, tag and pull request that the host reports is listed here, with what it started in each workspace
          and why.{' '}
          <DocsLink page="repositories" anchor="why-did-this-push-start-nothing">
            Why did this push start nothing?
          </DocsLink>
        </p>
      </EmptyState>
    )
  return (
    <div>
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <FilterChips
          label="Status"
          chips={CHIPS}
          selected={new Set(status === undefined ? [] : [status])}
          onToggle={(value) => change({ status: value === status ? undefined : value, page: undefined })}
        />
        <Picker
          label={repository ?? 'All repositories'}
          size="small"
          placeholder="Repository"
          about={['oauth-clients', connectionId, 'repository filter']}
          load={findConnectionRepositories(connectionId)}
          onChoose={({ value }) => change({ repository: value, page: undefined })}
        />
        {isFiltered && (
          <Button
            label="Clear filters"
            size="small"
            kind="quiet"
            onClick={() => change({ status: undefined, repository: undefined, page: undefined })}
          />
        )}
      </div>
      {!data && fallback}
      {data && shown.length === 0 && (
        <EmptyState icon={SearchX} title={page === undefined ? 'No deliveries match' : 'No deliveries on this page'} />
      )}
      {shown.length > 0 && (
        <ol aria-label="Deliveries" className="divide-y divide-line rounded-lg border border-line bg-paper">
          {shown.map((delivery) => (
            <DeliveryItem
              key={delivery.id}
              {...{ organization, delivery, mayManage }}
              isOpen={delivery.id === openId}
              onToggle={() => change({ delivery: delivery.id === openId ? undefined : delivery.id }, true)}
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
