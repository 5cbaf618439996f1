import { Link } from '@tanstack/react-router'
import { Plus, Waypoints } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../components/feedback.tsx'
import { ActiveFilters, SearchField } from '../../components/filters.tsx'
import { Page } from '../../components/page.tsx'
import { Picker } from '../../components/picker.tsx'
import { TabBar, type TabLinkProps } from '../../components/tabs.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { findProjects, useProjectName, useSomeWorkspaceWith } from '../workspaces/workspaces.ts'
import { NewTriggerDialog } from './new-trigger-dialog.tsx'
import {
  type DependencyGraph,
  type TriggersSearch,
  cyclesOf,
  triggersRoute,
  useDependencyGraph,
} from './run-triggers.ts'
import { TriggerList } from './trigger-list.tsx'

const GraphView = lazy(async () => import('./graph-view.tsx'))

const VIEWS = { graph: 'Graph', list: 'List' } as const
type View = keyof typeof VIEWS

type ChangeTriggers = (changes: TriggersSearch, options?: { replace?: boolean }) => void

/** The run triggers of an organization, as a graph or as an equivalent list. */
export function RunTriggersPage() {
  const { organization } = triggersRoute.useParams()
  const search = triggersRoute.useSearch()
  const navigate = triggersRoute.useNavigate()
  const graph = useDependencyGraph(organization)
  const view: View = search.view === 'list' ? 'list' : 'graph'
  const change: ChangeTriggers = (changes, { replace = false } = {}) =>
    void navigate({ search: (before) => ({ ...before, page: undefined, ...changes }), replace, resetScroll: false })
  const setNew = (isOpen: boolean) => change({ new: isOpen || undefined }, { replace: true })
  const permissions = useOrganizationPermissions(organization)
  const mayAdd = useSomeWorkspaceWith(organization, 'can-update')
  const create = (
    <Button
      label="New run trigger"
      kind="primary"
      icon={Plus}
      reason={mayAdd === false ? 'requires admin access to a workspace' : undefined}
      onClick={() => setNew(true)}
    />
  )
  const failure = failureOf(graph)
  return (
    <Page
      title="Run triggers"
      documentTitle={`Run triggers · ${VIEWS[view].toLowerCase()}`}
      about="Each apply in a source workspace starts a run in its destinations."
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/${view === 'list' ? 'run-triggers' : 'dependency-graph'}`} />
          {create}
        </>
      }
    >
      {failure && <ErrorNote {...failure} />}
      {!failure && !graph.data && <Skeleton label="Loading the run triggers" rows={8} />}
      {graph.data && graph.data.triggers.length === 0 && (
        <NoTriggers create={mayAdd !== false && create} seesAll={permissions?.['can-destroy'] ?? true} />
      )}
      {graph.data && graph.data.triggers.length > 0 && (
        <div className="space-y-4">
          <Cycles graph={graph.data} />
          <TabBar
            label="View"
            tabs={(Object.keys(VIEWS) as View[]).map((name) => ({
              text: VIEWS[name],
              render: (props) => <ViewLink key={name} view={name} isCurrent={name === view} {...props} />,
            }))}
          />
          <Filters organization={organization} search={search} onChange={change} />
          {view === 'list' ? (
            <TriggerList organization={organization} search={search} onChange={change} />
          ) : (
            <Suspense fallback={<Skeleton label="Loading the graph" rows={8} />}>
              <GraphView graph={graph.data} search={search} onChange={change} />
            </Suspense>
          )}
        </div>
      )}
      <NewTriggerDialog organization={organization} isOpen={search.new === true} onClose={() => setNew(false)} />
    </Page>
  )
}

/** `seesAll`: owners see all workspaces. */
function NoTriggers({ create, seesAll }: { create: React.ReactNode; seesAll: boolean }) {
  return (
    <EmptyState
      icon={Waypoints}
      title={seesAll ? 'No run triggers yet' : 'No run triggers that you can see'}
      actions={create}
    >
      <p>
        With a run trigger, each apply in a source workspace starts a run in another one: when the network changes, the
        workspaces that build on it plan again.
      </p>
      <p>
        <DocsLink page="chain-workspaces">Chain workspaces</DocsLink>
      </p>
    </EmptyState>
  )
}

/** Cycles shown in the notice. */
const MAX_CYCLES = 5

function Cycles({ graph }: { graph: DependencyGraph }) {
  const cycles = cyclesOf(graph)
  if (cycles.length === 0) return null
  return (
    <Notice tone="warn">
      <p>
        {cycles.length === 1 ? 'These workspaces trigger each other' : 'Some workspaces trigger each other'} in a cycle.
        Such a chain ends after 25 runs. <DocsLink page="chain-workspaces">Chain workspaces</DocsLink>
      </p>
      <ul className="list-disc pl-5">
        {cycles.slice(0, MAX_CYCLES).map(([cycle, names]) => (
          <li key={cycle}>
            Cycle {cycle}: {names.slice(0, 10).join(', ')}
            {names.length > 10 && ` and ${names.length - 10} more`}
          </li>
        ))}
        {cycles.length > MAX_CYCLES && <li>{cycles.length - MAX_CYCLES} more cycles</li>}
      </ul>
    </Notice>
  )
}

type FiltersProps = { organization: string; search: TriggersSearch; onChange: ChangeTriggers }

function Filters({ organization, search, onChange }: FiltersProps) {
  const { q, project } = search
  const { data: projectName = project } = useProjectName(project)
  const filters = project === undefined ? [] : [{ name: 'Project', value: projectName ?? '', onRemove: removeProject }]
  function removeProject() {
    onChange({ project: undefined })
  }
  return (
    <div className="space-y-2.5">
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search workspaces"
          value={q ?? ''}
          onChange={(text) => onChange({ q: text || undefined }, { replace: true })}
        />
        <Picker
          label="Project"
          about={['projects', organization]}
          load={findProjects(organization)}
          onChoose={({ value }) => onChange({ project: value })}
        />
      </div>
      <ActiveFilters filters={filters} onClear={() => onChange({ project: undefined, q: undefined })} />
    </div>
  )
}

function ViewLink({ view, isCurrent, ...props }: TabLinkProps & { view: View; isCurrent: boolean }) {
  return (
    <Link
      to="/app/$organization/run-triggers"
      params={triggersRoute.useParams()}
      search={(before) => ({ ...before, view, page: undefined })}
      aria-current={isCurrent ? 'page' : undefined}
      activeProps={{}}
      resetScroll={false}
      {...props}
    />
  )
}
