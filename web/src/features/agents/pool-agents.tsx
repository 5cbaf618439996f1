import { Bot, Play, Trash2 } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { FilterChips } from '../../components/filters.tsx'
import { TargetLink } from '../../components/links.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Elapsed, RelativeTime } from '../../components/time.tsx'
import { type Agent, type AgentPool, deleteAgent, useAgents } from './agent-pools.ts'
import { AGENT_STATUS_STYLE, AgentStatusText } from './agent-status.tsx'

type Search = { q?: string | undefined; status?: string | undefined; page?: number | undefined }
type PoolAgentsProps = {
  organization: string
  pool: AgentPool
  mayManage: boolean
  search: Search
  onSearch: (change: Search, replace: boolean) => void
  onStart: () => void
}

const STATUSES = Object.keys(AGENT_STATUS_STYLE) as (keyof typeof AGENT_STATUS_STYLE)[]

/** The agents of a pool, live; without a filter those that have not deregistered. */
export function PoolAgents({ organization, pool, mayManage, search, onSearch, onStart }: PoolAgentsProps) {
  const agents = useAgents(organization, pool.id, search)
  const selected = new Set(search.status?.split(','))
  const start = mayManage && <Button label="Start an agent" kind="primary" icon={Play} onClick={onStart} />
  const chips = STATUSES.map((status) => {
    const { text, tone, icon } = AGENT_STATUS_STYLE[status]
    const count = status === 'exited' ? 0 : pool.attributes['agent-counts'][status]
    return { value: status, text, tone, icon, count: count || undefined }
  })
  return (
    <SearchedList
      noun="agents"
      query={agents}
      search={search}
      onSearch={onSearch}
      isFiltered={search.status !== undefined}
      onClearFilters={() => onSearch({ status: undefined }, true)}
      filters={
        <FilterChips
          label="Status"
          chips={chips}
          selected={selected}
          onToggle={(status) => {
            const next = [...selected.symmetricDifference(new Set([status]))].filter(Boolean)
            onSearch({ status: next.join(',') || undefined, page: undefined }, false)
          }}
        />
      }
      empty={
        <EmptyState
          icon={Bot}
          title="No agents in this pool"
          actions={
            <>
              {start}
              <Button label="Show exited agents" onClick={() => onSearch({ status: 'exited' }, false)} />
            </>
          }
        >
          <p>
            Runs of workspaces that use the pool wait until an agent connects.{' '}
            <DocsLink page="run-an-agent">Run an agent</DocsLink>
          </p>
        </EmptyState>
      }
    >
      {(rows) => (
        <Table label={`Agents of ${pool.attributes.name}`} rows={rows} columns={columnsOf(organization, mayManage)} />
      )}
    </SearchedList>
  )
}

const WORK = {
  plan: 'plan',
  apply: 'apply',
  task: 'run task request',
  repository: 'repository request',
  policy: 'policy evaluation',
} as const
const ACCEPTED = {
  plan: 'plans',
  apply: 'applies',
  task: 'run task requests',
  repository: 'repository requests',
  policy: 'policy evaluations',
} as const

function columnsOf(organization: string, mayManage: boolean): readonly Column<Agent>[] {
  return [
    {
      header: 'Agent',
      className: 'min-w-32',
      cell: ({ attributes: { name, accepts } }) => (
        <>
          <span className="font-medium">{name}</span>
          {accepts.length < Object.keys(WORK).length && (
            <span className="block text-dim">accepts only {accepts.map((kind) => ACCEPTED[kind]).join(', ')}</span>
          )}
        </>
      ),
    },
    { header: 'Status', className: 'w-px', cell: ({ attributes }) => <AgentStatusText status={attributes.status} /> },
    { header: 'Jobs', className: 'sm:min-w-40', cell: (agent) => <Jobs organization={organization} agent={agent} /> },
    {
      header: 'Last seen',
      className: 'hidden w-px whitespace-nowrap text-dim sm:table-cell',
      cell: ({ attributes }) => <RelativeTime at={attributes['last-ping-at']} />,
    },
    {
      header: 'Engines',
      className: 'hidden lg:table-cell',
      cell: ({ attributes: { engines } }) =>
        engines.length === 0 ? (
          <span className="text-dim">none installed</span>
        ) : (
          engines.map(({ product, version }) => `${product} ${version}`).join(', ')
        ),
    },
    {
      header: 'Version',
      className: 'hidden whitespace-nowrap md:table-cell',
      cell: ({ attributes: { version, os, arch } }) => (
        <>
          <span className="numeric">{version}</span> <span className="text-dim">{`${os} ${arch}`}</span>
        </>
      ),
    },
    {
      header: 'Address',
      className: 'numeric hidden whitespace-nowrap text-dim xl:table-cell',
      cell: ({ attributes }) => attributes['ip-address'],
    },
    ...(mayManage
      ? [
          {
            header: 'Actions',
            isHeaderHidden: true,
            className: 'w-px text-right',
            cell: (agent: Agent) => <AgentMenu organization={organization} agent={agent} />,
          },
        ]
      : []),
  ]
}

function Jobs({ organization, agent: { attributes } }: { organization: string; agent: Agent }) {
  const { 'current-jobs': jobs, concurrency } = attributes
  if (jobs.length === 0) return <span className="numeric text-dim">{`0 of ${concurrency}`}</span>
  return (
    <ul>
      {jobs.map(({ kind, 'run-id': run, 'started-at': at }, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- jobs that the user may not see have no id
        <li key={run ?? index} className="flex flex-wrap gap-x-2">
          {run === null ? (
            <span className="text-dim">{WORK[kind]} that you may not see</span>
          ) : (
            <TargetLink
              leadsTo={{ to: '/app/$organization/runs/$run', params: { organization, run } }}
              className="hover:underline"
            >
              {WORK[kind]} <span className="numeric">{run}</span>
            </TargetLink>
          )}
          <Elapsed from={at} className="text-dim" />
        </li>
      ))}
    </ul>
  )
}

function AgentMenu({ organization, agent: { id, attributes } }: { organization: string; agent: Agent }) {
  const { name, status } = attributes
  const isOnline = status === 'idle' || status === 'busy'
  return (
    <RowMenu
      label={`Actions for ${name}`}
      actions={[
        {
          text: 'Delete agent',
          icon: Trash2,
          reason: isOnline ? `it is ${status}: stop it first` : undefined,
          confirm: {
            title: `Delete ${name}?`,
            consequence: 'If it starts again, it registers as a new agent.',
            action: 'Delete agent',
            done: `${name} deleted`,
            onConfirm: async () => deleteAgent(organization, id),
          },
        },
      ]}
    />
  )
}
