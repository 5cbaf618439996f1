import { getRouteApi } from '@tanstack/react-router'
import { Play } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { TokensCard } from '../tokens/tokens-card.tsx'
import { type ShownPool, useAgentPool } from './agent-pools.ts'
import { AgentCounts } from './agent-status.tsx'
import { PoolAgents } from './pool-agents.tsx'
import { PoolScope } from './pool-scope.tsx'
import { PoolSettings } from './pool-settings.tsx'

const StartDialog = lazy(async () => import('./start-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/agents/$pool')

const TABS = { agents: 'Agents', scope: 'Scope', tokens: 'Tokens', settings: 'Settings' } as const
/** Tokens are listed only for those who manage pools. */
const READER_TABS = { agents: 'Agents', scope: 'Scope', settings: 'Settings' } as const

export function AgentPoolPage() {
  const { pool: id } = route.useParams()
  const query = useAgentPool(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="agent pool" list="agents" {...failure} />
  return query.data ? <OpenPool shown={query.data} /> : <Skeleton label="Loading the agent pool" />
}

function OpenPool({ shown }: { shown: ShownPool }) {
  const { organization } = route.useParams()
  const { tab, start = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const mayManage = useOrganizationPermissions(organization)?.['can-update-agent-pools'] === true
  const { pool } = shown
  const { name } = pool.attributes
  const tabs: Record<string, string> = mayManage ? TABS : READER_TABS
  const open = openTab(tabs, tab)
  const setStart = (isOpen: boolean) =>
    void navigate({ search: (before) => ({ ...before, start: isOpen || undefined }), replace: true })
  return (
    <Page
      title={name}
      documentTitle={`${name} · ${tabs[open]?.toLowerCase()}`}
      badge={<AgentCounts pool={pool} />}
      about={
        pool.attributes['organization-scoped']
          ? 'All workspaces may use the pool.'
          : 'Only selected projects and workspaces may use the pool.'
      }
      actions={
        <>
          <CopyCurl path={`/agent-pools/${pool.id}/agents`} />
          {mayManage && <Button label="Start an agent" icon={Play} kind="primary" onClick={() => setStart(true)} />}
        </>
      }
    >
      <ParamTabs
        label="Agent pool"
        tabs={tabs}
        open={open}
        page={{ to: '/app/$organization/agents/$pool', params: { organization, pool: pool.id } }}
      />
      <div className="mt-4">
        {open === 'agents' && (
          <PoolAgents
            {...{ organization, pool, mayManage, search }}
            onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
            onStart={() => setStart(true)}
          />
        )}
        {open === 'scope' && <PoolScope {...{ organization, shown, mayManage }} />}
        {open === 'tokens' && <TokensCard owner={{ kind: 'agent-pool', id: pool.id, name }} mayManage />}
        {open === 'settings' && <PoolSettings {...{ organization, shown, mayManage }} />}
      </div>
      {start && mayManage && (
        <Suspense>
          <StartDialog organization={organization} pool={pool} onClose={() => setStart(false)} />
        </Suspense>
      )}
    </Page>
  )
}
