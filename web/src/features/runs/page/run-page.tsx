import type { DocumentOnWire } from '@groundstate/contract/responses'
import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import type { runSchema } from '@groundstate/contract/runs'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { Navigate, getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../../../api/client.ts'
import { failureOf, includedOf } from '../../../api/queries.ts'
import { ErrorPage, Skeleton } from '../../../components/feedback.tsx'
import { TabBar, type TabLinkProps } from '../../../components/tabs.tsx'
import { ApprovalPanel } from '../approval/approval-panel.tsx'
import { ChangesTab } from '../changes/changes-tab.tsx'
import { LogTab } from '../log/log-tab.tsx'
import { type RunTab, TabLink, runRoute } from '../run-navigation.tsx'
import { runState } from '../run-status.tsx'
import { runSteps, stoppingStage } from '../run-steps.ts'
import { type Run, type RunDocument, type TaskStage, useQueueUpdates, useRun } from '../run.ts'
import { StageStrip } from '../stage-strip.tsx'
import { TasksTab } from '../tasks/tasks-tab.tsx'
import { TimelineTab } from '../timeline/timeline-tab.tsx'
import { RunHeader, RunNotice } from './run-header.tsx'

const TAB_TITLES = {
  changes: 'Changes',
  log: 'Log',
  tasks: 'Run tasks',
  timeline: 'Timeline',
} as const satisfies Record<RunTab, string>
const TABS = Object.keys(TAB_TITLES) as RunTab[]

export function RunPage() {
  const { organization, workspace, run: id } = runRoute.useParams()
  const query = useRun(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage {...failure} what="run" />
  if (!query.data) return <Skeleton />
  // The link may predate a rename of the workspace, or name another organization.
  const { name } = query.data.workspace?.attributes ?? { name: workspace }
  const owner = query.data.workspace?.relationships.organization.data?.id ?? organization
  if (name === workspace && owner === organization) return <LoadedRun key={id} document={query.data} />
  const params = { organization: owner, workspace: name, run: id }
  return (
    <Navigate
      to="/app/$organization/workspaces/$workspace/runs/$run"
      params={params}
      search={(before) => before}
      replace
    />
  )
}

const byIdRoute = getRouteApi('/frame/app/$organization/runs/$run')

/** Redirects from a path with only the run ID to the run's page. */
export function RunByIdPage() {
  const { organization, run: id } = byIdRoute.useParams()
  const run = useQuery({
    queryKey: ['runs', id, 'workspace'],
    queryFn: async () => get<DocumentOnWire<typeof runSchema, typeof workspaceSchema>>(`/runs/${id}?include=workspace`),
  })
  const failure = failureOf(run)
  if (failure) return <ErrorPage {...failure} what="run" />
  if (!run.data) return <Skeleton />
  const workspace = includedOf(run.data).one('workspaces', run.data.data.relationships.workspace)
  if (!workspace) return <ErrorPage error={new Error('its workspace is missing')} what="run" />
  // The path may name another organization.
  const owner = workspace.relationships.organization.data?.id ?? organization
  const params = { organization: owner, workspace: workspace.attributes.name, run: id }
  return <Navigate to="/app/$organization/workspaces/$workspace/runs/$run" params={params} replace />
}

function LoadedRun({ document }: { document: RunDocument }) {
  const { run, plan, apply, stages, workspace } = document
  useQueueUpdates(document)
  const { part } = runRoute.useSearch()
  const selected = TABS.find((tab) => tab === part)
  // Once the user interacts with a tab, status changes no longer replace it.
  const [pinned, setPinned] = useState<readonly RunTab[]>()
  const shown = selected ? [selected] : (pinned ?? defaultTabs(run, stages))
  const pin = () => setPinned(shown)

  return (
    <RunHeader document={document}>
      <p role="status" className="sr-only">
        Run status: {runState(run.attributes).text}
      </p>
      <div className="space-y-4 max-lg:pb-20">
        <RunNotice document={document} />
        <StageStrip steps={runSteps(document)} />
        <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_22rem] lg:items-start">
          <div className="min-w-0">
            <RunTabs shown={shown} taskCount={stages.flatMap(({ results }) => results).length} />
            <div className="mt-4 space-y-6" onPointerDown={pin} onKeyDown={pin} onWheel={pin}>
              {shown.map((tab) => (
                <section key={tab} aria-label={TAB_TITLES[tab]}>
                  {tab === 'changes' && <ChangesTab {...{ run, plan, apply, workspace }} />}
                  {/* The changes tab has the diagnostics too. */}
                  {tab === 'log' && <LogTab {...{ run, plan, apply }} hasDiagnostics={!shown.includes('changes')} />}
                  {tab === 'tasks' && <TasksTab run={run} stages={stages} />}
                  {tab === 'timeline' && <TimelineTab document={document} />}
                </section>
              ))}
            </div>
          </div>
          <ApprovalPanel document={document} />
        </div>
      </div>
    </RunHeader>
  )
}

/** The tabs to open if the URL names none: those that matter most in the current status. */
export function defaultTabs({ attributes }: Run, stages: readonly TaskStage[]): readonly RunTab[] {
  const { status, 'status-timestamps': times } = attributes
  const { awaits, phase, stage } = RUN_STATUS_TABLE[status]
  if (phase === 'apply' && (awaits === 'agent' || awaits === 'result')) return ['changes', 'log']
  if (stage || stoppingStage(status, stages) !== undefined) return ['tasks']
  if (times['planned-at'] !== undefined && status !== 'errored') return ['changes']
  return [times['planning-at'] === undefined ? 'timeline' : 'log']
}

function RunTabs({ shown, taskCount }: { shown: readonly RunTab[]; taskCount: number }) {
  const tabs = TABS.map((tab) => ({
    text: TAB_TITLES[tab],
    count: (tab === 'tasks' && taskCount) || undefined,
    render: (props: TabLinkProps) => (
      <TabLink search={{ part: tab }} aria-current={shown.includes(tab) || undefined} {...props} />
    ),
  }))
  return <TabBar label="Run sections" tabs={tabs} />
}
