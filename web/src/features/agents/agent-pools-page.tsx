import { getRouteApi } from '@tanstack/react-router'
import { Bot, CircleCheck, CircleX, Plus } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge, StatusText } from '../../components/status.tsx'
import { type Column, Count, Table } from '../../components/table.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { useOverview } from '../overview/overview.ts'
import { type AgentPool, useAgentPoolList } from './agent-pools.ts'
import { AgentCounts } from './agent-status.tsx'

const NewPoolDialog = lazy(async () => import('./new-pool-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/agents')

export function AgentPoolsPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const mayManage = useOrganizationPermissions(organization)?.['can-update-agent-pools'] === true
  const pools = useAgentPoolList(organization, search)
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const create = mayManage && <Button label="New agent pool" kind="primary" icon={Plus} onClick={() => setNew(true)} />
  return (
    <Page
      title="Agents"
      about="Agents execute runs in your own networks. They belong to a pool, which workspaces, projects or the organization select."
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/agent-pools`} />
          {create}
        </>
      }
    >
      <BuiltInPool organization={organization} />
      <SearchedList
        noun="agent pools"
        query={pools}
        search={search}
        onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
        empty={
          <EmptyState icon={Bot} title="No agent pools yet" actions={create}>
            <p>
              Create a pool to execute runs in a network that this server can’t reach, or with credentials that it must
              not have. <DocsLink page="run-an-agent">Run an agent</DocsLink>
            </p>
          </EmptyState>
        }
      >
        {(rows) => <Table label={`Agent pools of ${organization}`} rows={rows} columns={columnsOf(organization)} />}
      </SearchedList>
      {isNew && mayManage && (
        <Suspense>
          <NewPoolDialog organization={organization} onClose={() => setNew(false)} />
        </Suspense>
      )}
    </Page>
  )
}

/** The pool of the agent in the server's process, which belongs to no organization and can't be changed. */
function BuiltInPool({ organization }: { organization: string }) {
  const agents = useOverview(organization).data?.overview.agents
  if (!agents) return null
  const isOnline = agents['is-built-in-online']
  return (
    <section
      aria-label="Built-in agents"
      className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-1 rounded-lg border border-line bg-paper px-4 py-2.5"
    >
      <span className="font-medium">This server</span>
      <Badge text="built-in" />
      <StatusText
        tone={isOnline ? 'good' : 'warn'}
        icon={isOnline ? CircleCheck : CircleX}
        text={isOnline ? 'Online' : 'Offline'}
      />
      <span className="text-dim">
        Executes the runs of workspaces with the execution mode <i>remote</i>, of all organizations.
      </span>
    </section>
  )
}

function columnsOf(organization: string): readonly Column<AgentPool>[] {
  return [
    {
      header: 'Pool',
      className: 'min-w-36',
      cell: ({ id, attributes }) => (
        <TargetLink
          leadsTo={{ to: '/app/$organization/agents/$pool', params: { organization, pool: id } }}
          className="font-medium hover:underline"
        >
          {attributes.name}
        </TargetLink>
      ),
    },
    { header: 'Agents', cell: (pool) => <AgentCounts pool={pool} /> },
    {
      header: 'Workspaces',
      className: 'hidden w-px text-right sm:table-cell',
      cell: ({ relationships: { workspaces } }) => <Count value={workspaces.data.length} />,
    },
    {
      header: 'Scope',
      className: 'hidden md:table-cell',
      cell: ({ attributes }) => (attributes['organization-scoped'] ? 'all workspaces' : 'selected workspaces'),
    },
    {
      header: 'Job limit',
      className: 'hidden w-px text-right whitespace-nowrap lg:table-cell',
      cell: ({ attributes: { 'max-concurrent-jobs': limit } }) =>
        limit === null ? <span className="text-dim">none</span> : <span className="numeric">{limit}</span>,
    },
  ]
}
