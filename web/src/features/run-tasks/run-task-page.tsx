import { Link } from '@tanstack/react-router'
import { Globe, Power, PowerOff } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { Badge } from '../../components/status.tsx'
import { TabBar, type TabLinkProps } from '../../components/tabs.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { AttachmentsTab } from './attachments-tab.tsx'
import { type ShownTask, taskRoute, useRunTask, useSwitchTask } from './run-tasks.ts'
import { HealthSummary } from './task-health.tsx'
import { everywhereOf } from './workspace-tasks.ts'

const DeliveriesTab = lazy(async () => import('./deliveries-tab.tsx'))
const TestTab = lazy(async () => import('./test-tab.tsx'))
const TaskSettings = lazy(async () => import('./task-settings.tsx'))

const TABS = { attachments: 'Attachments', deliveries: 'Deliveries', test: 'Test', settings: 'Settings' } as const
type TabName = keyof typeof TABS

/** The API path of a tab’s content, below that of the task. */
const CURL_PATHS = {
  attachments: '/relationships/workspace-tasks',
  deliveries: '/deliveries',
  test: '',
  settings: '?include=health',
} as const satisfies Record<TabName, string>

/** A run task: its health, the workspaces and stages to which it is attached, its deliveries, a test, and its settings. */
export function RunTaskPage() {
  const { organization, task: id } = taskRoute.useParams()
  const query = useRunTask(organization, id)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="run task" list="run-tasks" {...failure} />
  return query.data ? <RunTask shown={query.data} /> : <Skeleton label="Loading the run task" />
}

function RunTask({ shown }: { shown: ShownTask }) {
  const { organization } = taskRoute.useParams()
  const { tab = 'attachments' } = taskRoute.useSearch()
  const open = (tab in TABS ? tab : 'attachments') as TabName
  const mayManage = useOrganizationPermissions(organization)?.['can-manage-run-tasks'] === true
  const switchTask = useSwitchTask(organization)
  const { task } = shown
  const { name, url, description, enabled } = task.attributes
  return (
    <Page
      title={name}
      documentTitle={`${name} · ${TABS[open].toLowerCase()}`}
      badge={
        <>
          {!enabled && <Badge icon={PowerOff} title="New runs do not call it" text="disabled" />}
          {everywhereOf(task).enabled && <Badge icon={Globe} text="every workspace" />}
        </>
      }
      about={
        <>
          {description !== null && <p>{description}</p>}
          <p className="font-mono text-[0.9285em]">{url}</p>
          {shown.pool !== undefined && <p>Requests are sent by the agent pool {shown.pool}.</p>}
        </>
      }
      actions={
        <>
          <CopyCurl path={`/tasks/${task.id}${CURL_PATHS[open]}`} />
          {mayManage && (
            <Button
              label={enabled ? 'Disable' : 'Enable'}
              icon={enabled ? PowerOff : Power}
              onClick={() => void switchTask(task)}
            />
          )}
        </>
      }
    >
      <div className="space-y-4">
        <Card title="Health">
          <HealthSummary health={shown.health} />
        </Card>
        <TabBar
          label="Run task"
          tabs={(Object.keys(TABS) as TabName[]).map((name) => ({
            text: TABS[name],
            render: (props) => <TabLink key={name} tab={name} isCurrent={name === open} {...props} />,
          }))}
        />
        <Suspense fallback={<Skeleton />}>
          {open === 'attachments' && <AttachmentsTab task={task} />}
          {open === 'deliveries' && <DeliveriesTab task={task} />}
          {open === 'test' && <TestTab task={task} mayManage={mayManage} />}
          {open === 'settings' && <TaskSettings task={task} pool={shown.pool} mayManage={mayManage} />}
        </Suspense>
      </div>
    </Page>
  )
}

function TabLink({ tab, isCurrent, ...props }: TabLinkProps & { tab: TabName; isCurrent: boolean }) {
  return (
    <Link
      to="/app/$organization/run-tasks/$task"
      params={taskRoute.useParams()}
      search={{ tab }}
      aria-current={isCurrent ? 'page' : undefined}
      activeProps={{}}
      resetScroll={false}
      {...props}
    />
  )
}
