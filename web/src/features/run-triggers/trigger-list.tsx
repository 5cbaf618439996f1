import { SearchX, Unplug } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { WorkspaceLink } from '../../components/links.tsx'
import { Pager } from '../../components/pager.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type ListedTrigger, type TriggersSearch, removeTrigger, useTriggerList } from './run-triggers.ts'

type TriggerListProps = {
  organization: string
  search: TriggersSearch
  onChange: (changes: TriggersSearch) => void
}

const COLUMNS: readonly Column<ListedTrigger>[] = [
  {
    header: 'Source',
    sort: 'source',
    className: 'min-w-36',
    cell: ({ attributes }) => <TriggersLink workspace={attributes['sourceable-name']} />,
  },
  {
    header: 'Destination',
    sort: 'destination',
    className: 'min-w-36',
    cell: ({ attributes }) => <TriggersLink workspace={attributes['workspace-name']} />,
  },
  {
    header: 'Last fired',
    sort: 'last-fired-at',
    className: 'whitespace-nowrap text-dim',
    cell: ({ attributes: { 'last-fired-at': at } }) => (at === null ? 'never' : <RelativeTime at={at} />),
  },
  {
    header: 'Actions',
    isHeaderHidden: true,
    className: 'w-px text-right',
    cell: (row) => <TriggerMenu trigger={row} />,
  },
]

/** The same triggers as the graph's, searched, sorted and paged by the server. */
export function TriggerList({ organization, search, onChange }: TriggerListProps) {
  const { data, fallback } = loaded(useTriggerList(organization, search), { rows: 8 })
  if (!data) return fallback
  if (data.data.length === 0)
    return (
      <EmptyState
        icon={SearchX}
        title={search.page === undefined ? 'No run triggers match' : 'No run triggers on this page'}
        actions={<Button label="Clear filters" onClick={() => onChange({ q: undefined, project: undefined })} />}
      />
    )
  return (
    <div>
      <Table
        label={`Run triggers of ${organization}`}
        rows={data.data}
        columns={COLUMNS}
        sort={search.sort ?? 'source'}
        onSort={(sort) => onChange({ sort: sort === 'source' ? undefined : sort })}
      />
      <Pager pagination={data.meta.pagination} onPage={(page) => onChange({ page: page === 1 ? undefined : page })} />
    </div>
  )
}

export function TriggersLink({ workspace }: { workspace: string }) {
  return <WorkspaceLink workspace={workspace} tab="triggers" className="min-w-0 flex-1 font-medium hover:underline" />
}

function TriggerMenu({ trigger }: { trigger: ListedTrigger }) {
  const { 'sourceable-name': source, 'workspace-name': destination, permissions } = trigger.attributes
  return (
    <RowMenu
      label={`Actions for the trigger from ${source} to ${destination}`}
      actions={[
        {
          text: 'Remove',
          icon: Unplug,
          reason: permissions['can-destroy'] ? undefined : `requires admin access to ${destination}`,
          confirm: removal({ id: trigger.id, source, destination }),
        },
      ]}
    />
  )
}

type Removed = { id: string; source: string; destination: string }

/** The confirmation before a trigger is removed. */
export function removal({ id, source, destination }: Removed) {
  return {
    title: `Remove the trigger from ${source} to ${destination}?`,
    consequence: `Applies in ${source} will no longer start runs in ${destination}.`,
    action: 'Remove trigger',
    done: `Trigger from ${source} to ${destination} removed`,
    onConfirm: async () => removeTrigger(id),
  }
}
