import { isEnded, RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import { getRouteApi, Link, Navigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { failureOf } from '../../../api/queries.ts'
import { ErrorPage, Notice, Skeleton } from '../../../components/feedback.tsx'
import { counted } from '../../../components/numbers.ts'
import { Page } from '../../../components/page.tsx'
import { Badge } from '../../../components/status.tsx'
import { TabBar, type TabLinkProps } from '../../../components/tabs.tsx'
import { Elapsed, RelativeTime } from '../../../components/time.tsx'
import { ApprovalPanel, SkipToDecision } from '../approval/approval-panel.tsx'
import { ChangesTab } from '../changes/changes-tab.tsx'
import { LogTab } from '../log/log-tab.tsx'
import { CommitLine } from '../run-commit.tsx'
import { RunLink, runRoute, type RunTab, TabLink } from '../run-navigation.tsx'
import { isOfRepository, originText, RunAuthorName } from '../run-origin.tsx'
import { runEndedAt, runState, RunStatus } from '../run-status.tsx'
import { runSteps, StageStrip, stoppingStage } from '../run-steps.tsx'
import { messageBody, runOptions, runTitle } from '../run-text.ts'
import { type Run, type RunDocument, type TaskStage, useQueueUpdates, useRun } from '../run.ts'
import { TasksTab } from '../tasks/tasks-tab.tsx'
import { TimelineTab } from '../timeline/timeline-tab.tsx'
import { ReviewedPlanCard } from './reviewed-plan.tsx'
import { RunDetails } from './run-details.tsx'
import { RunNotice } from './run-notice.tsx'

const TABS: readonly RunTab[] = ['changes', 'log', 'tasks', 'timeline']

function tabTitles(stages: readonly TaskStage[]): Record<RunTab, string> {
  const hasTasks = stages.some(({ results }) => results.length > 0)
  const hasPolicies = stages.some(({ evaluations }) => evaluations.length > 0)
  const tasks = hasPolicies ? (hasTasks ? 'Run tasks and policies' : 'Policies') : 'Run tasks'
  return { changes: 'Changes', log: 'Log', tasks, timeline: 'Timeline' }
}

const byIdRoute = getRouteApi('/frame/app/$organization/runs/$run')

export function RunPage() {
  return <OpenRun {...runRoute.useParams()} />
}

/** Redirects from a path with only the run ID to the run's page. */
export function RunByIdPage() {
  return <OpenRun {...byIdRoute.useParams()} />
}

function OpenRun({ organization, workspace, run: id }: { organization: string; workspace?: string; run: string }) {
  const query = useRun(id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage {...failure} what="run" />
  if (!query.data) return <Skeleton />
  // The link may predate a rename of the workspace, or name another organization.
  const name = query.data.workspace?.attributes.name ?? workspace
  const owner = query.data.workspace?.relationships.organization.data?.id ?? organization
  if (name === undefined) return <ErrorPage error={new Error('its workspace is missing')} what="run" />
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

function LoadedRun({ document }: { document: RunDocument }) {
  const { run, stages } = document
  useQueueUpdates(document)
  const { part } = runRoute.useSearch()
  // Once the user interacts with a tab, status changes no longer replace it.
  const [pinned, setPinned] = useState<RunTab>()
  const shown = TABS.find((tab) => tab === part) ?? pinned ?? defaultTab(run, stages)
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
            <RunTabs shown={shown} stages={stages} />
            <section
              aria-label={tabTitles(stages)[shown]}
              className="mt-4"
              onPointerDown={pin}
              onKeyDown={pin}
              onWheel={pin}
            >
              {shown === 'changes' && <ChangesTab document={document} />}
              {shown === 'log' && <LogTab document={document} />}
              {shown === 'tasks' && <TasksTab run={run} stages={stages} />}
              {shown === 'timeline' && <TimelineTab document={document} />}
            </section>
          </div>
          <div className="space-y-4 lg:sticky lg:top-16 lg:max-h-[calc(100dvh-5rem)] lg:overflow-y-auto">
            <ApprovalPanel document={document} />
            <ReviewedPlanCard document={document} />
            <RunDetails document={document} />
          </div>
        </div>
      </div>
    </RunHeader>
  )
}

/** The tab to open if the URL names none: the one that matters most in the current status. */
export function defaultTab({ attributes }: Run, stages: readonly TaskStage[]): RunTab {
  const { status, 'status-timestamps': times } = attributes
  if (RUN_STATUS_TABLE[status].stage || stoppingStage(status, stages) !== undefined) return 'tasks'
  if (times['planned-at'] !== undefined && status !== 'errored') return 'changes'
  return times['planning-at'] === undefined ? 'timeline' : 'log'
}

function RunTabs({ shown, stages }: { shown: RunTab; stages: readonly TaskStage[] }) {
  const titles = tabTitles(stages)
  const taskCount = stages.flatMap(({ results, evaluations }) => [...results, ...evaluations]).length
  const tabs = TABS.map((tab) => ({
    text: titles[tab],
    count: (tab === 'tasks' && taskCount) || undefined,
    render: (props: TabLinkProps) => (
      <TabLink search={{ part: tab }} aria-current={shown === tab ? 'page' : undefined} {...props} />
    ),
  }))
  return <TabBar label="Run sections" tabs={tabs} />
}

function RunHeader({ document, children }: { document: RunDocument; children: ReactNode }) {
  const { workspace } = runRoute.useParams()
  const { part } = runRoute.useSearch()
  const { run } = document
  const { attributes } = run
  const body = messageBody(attributes.message)
  const tab = TABS.find((own) => own === part)
  const titles = [
    workspace,
    `run ${runState(attributes).text}`,
    ...(tab ? [tabTitles(document.stages)[tab].toLowerCase()] : []),
  ]
  const about = (
    <>
      {body !== '' && <p className="mb-1 whitespace-pre-line text-ink">{body}</p>}
      <Origin document={document} />
      {document.commit && <CommitLine commit={document.commit} hasSender={!isOfRepository(attributes)} />}
      <Options run={run} />
    </>
  )
  return (
    <>
      <DestroyBanner document={document} />
      <Page
        title={runTitle({ id: run.id, message: attributes.message })}
        documentTitle={titles.join(' · ')}
        badge={
          <>
            <SkipToDecision />
            <RunStatus run={attributes} isBadge />
          </>
        }
        about={about}
      >
        {children}
      </Page>
    </>
  )
}

function DestroyBanner({ document: { run, plan } }: { document: RunDocument }) {
  const { workspace } = runRoute.useParams()
  const { 'is-destroy': isDestroy, 'target-addrs': targets, status } = run.attributes
  if (isDestroy) {
    const scope = targets.length === 0 ? 'all resources' : counted(targets.length, 'target')
    return (
      <p className="-mt-1 mb-3 rounded-md bg-bad px-3 py-2 font-medium text-on-bad">
        {isEnded(status) ? `Destroy run: ${scope} of ${workspace}.` : `This run destroys ${scope} of ${workspace}.`}
      </p>
    )
  }
  const count = plan?.attributes['resource-destructions'] ?? 0
  if (count === 0 || isEnded(status)) return null
  return (
    <div className="mb-3">
      <Notice tone="bad">{`The plan destroys or replaces ${counted(count, 'resource')}.`}</Notice>
    </div>
  )
}

/** Author, source, creation time and duration of the run. */
function Origin({ document: { run, createdBy, commit, configuration, triggers } }: { document: RunDocument }) {
  const { attributes } = run
  const endedAt = runEndedAt(attributes)
  const hasAuthor = triggers.length === 0 || createdBy !== undefined
  const params = runRoute.useParams()
  return (
    <p className="flex flex-wrap items-center gap-x-4 gap-y-1">
      <span className="inline-flex flex-wrap items-center gap-x-1.5">
        {hasAuthor && (
          <span className="font-medium text-ink">
            <RunAuthorName run={attributes} author={createdBy} {...{ commit, configuration }} />
          </span>
        )}
        {triggers.length === 0 ? (
          `via ${originText(attributes, { commit, configuration })}`
        ) : (
          <Triggers triggers={triggers} text={hasAuthor ? 'triggered by' : 'Triggered by'} />
        )}
      </span>
      {/* On a phone the breadcrumbs omit the workspace. */}
      <span className="sm:hidden">
        in{' '}
        <Link to="/app/$organization/workspaces/$workspace" params={params} className="text-accent underline">
          {params.workspace}
        </Link>
      </span>
      <RelativeTime at={attributes['created-at']} />
      <span>
        {endedAt === null ? 'for ' : 'took '}
        <Elapsed from={attributes['created-at']} to={endedAt} />
      </span>
    </p>
  )
}

function Triggers({ triggers, text }: Pick<RunDocument, 'triggers'> & { text: string }) {
  return (
    <span>
      {text}{' '}
      {triggers.map(({ id, workspace }, index) => [
        index > 0 && ', ',
        <RunLink key={id} workspace={workspace} run={{ id }} className="text-accent underline">
          a run of {workspace}
        </RunLink>,
      ])}
    </span>
  )
}

function Options({ run }: { run: RunDocument['run'] }) {
  const options = runOptions(run.attributes)
  if (options.length === 0) return null
  return (
    <ul aria-label="Options" className="mt-2 flex flex-wrap items-start gap-1.5">
      {options.map(({ text, about, values }) => (
        <li key={text}>
          {values.length === 0 ? (
            <Badge tone="busy" title={about} text={text} />
          ) : (
            <details className="rounded-md bg-busy-soft px-1.5 py-0.5 text-xs text-busy">
              <summary className="font-medium">
                {text} ({values.length})
              </summary>
              <p className="mt-1 text-ink">{about}</p>
              <ul className="my-1 space-y-0.5 font-mono text-ink">
                {values.map((value) => (
                  <li key={value}>{value}</li>
                ))}
              </ul>
            </details>
          )}
        </li>
      ))}
    </ul>
  )
}
