import { getRouteApi } from '@tanstack/react-router'
import { FlaskConical, Globe, Plus, Power, PowerOff, Settings, ShieldCheck, Trash2 } from 'lucide-react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { TargetLink, useGo, useLeaveDialog } from '../../components/links.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { NewTaskDialog } from './new-task-dialog.tsx'
import { DELETION, type ShownTask, attachedReason, useDeleteTask, useRunTasks, useSwitchTask } from './run-tasks.ts'
import { HealthLine } from './task-health.tsx'
import { STAGES, everywhereOf } from './workspace-tasks.ts'

const route = getRouteApi('/frame/app/$organization/run-tasks')

/** The run tasks of an organization, each with its health. */
export function RunTasksPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const go = useGo()
  const mayManage = useOrganizationPermissions(organization)?.['can-manage-run-tasks'] === true
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const leave = useLeaveDialog(() => setNew(false))
  const create = mayManage && <Button label="New run task" kind="primary" icon={Plus} onClick={() => setNew(true)} />
  return (
    <Page
      title="Run tasks"
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/tasks`} />
          {create}
        </>
      }
    >
      <SearchedList
        noun="run tasks"
        placeholder="Name or URL"
        query={useRunTasks(organization, search)}
        search={search}
        onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
        empty={<NoRunTasks create={create} />}
      >
        {(rows) => <TasksTable organization={organization} rows={rows} mayManage={mayManage} />}
      </SearchedList>
      {mayManage && (
        <NewTaskDialog
          organization={organization}
          isOpen={isNew}
          onClose={() => setNew(false)}
          onCreated={({ id }) => {
            leave()
            go({ to: '/app/$organization/run-tasks/$task', params: { organization, task: id } })
          }}
        />
      )}
    </Page>
  )
}

function NoRunTasks({ create }: { create: React.ReactNode }) {
  return (
    <EmptyState icon={ShieldCheck} title="No run tasks yet" actions={create}>
      <p>
        A run task is an external service that checks runs: it receives the plan and reports whether the run may
        continue. A failed mandatory task stops the run, an advisory one only warns.
      </p>
      <p>
        <DocsLink page="run-tasks">Write a receiver</DocsLink>, or start from{' '}
        <DocsLink page="run-task-receiver">the example</DocsLink>.
        {create === false && ' Creating a run task requires the permission to manage run tasks.'}
      </p>
    </EmptyState>
  )
}

type TasksTableProps = { organization: string; rows: readonly ShownTask[]; mayManage: boolean }

function TasksTable({ organization, rows, mayManage }: TasksTableProps) {
  const columns: readonly Column<ShownTask>[] = [
    { header: 'Name', className: 'min-w-36', cell: (row) => <Name organization={organization} row={row} /> },
    { header: 'Last 50 requests', cell: ({ health }) => <HealthLine health={health} /> },
    {
      header: 'Workspaces',
      className: 'whitespace-nowrap hidden sm:table-cell',
      cell: (row) => <Workspaces row={row} />,
    },
    {
      header: 'Agent pool',
      className: 'hidden lg:table-cell',
      cell: ({ pool }) => pool ?? <span className="text-dim">none</span>,
    },
    {
      header: 'Actions',
      isHeaderHidden: true,
      className: 'w-px text-right',
      cell: (row) => <TaskMenu organization={organization} row={row} mayManage={mayManage} />,
    },
  ]
  return <Table label={`Run tasks of ${organization}`} rows={rows} columns={columns} />
}

function Name({ organization, row: { task } }: { organization: string; row: ShownTask }) {
  const { name, url, enabled } = task.attributes
  return (
    <>
      <span className="flex flex-wrap items-center gap-2">
        <TargetLink
          leadsTo={{ to: '/app/$organization/run-tasks/$task', params: { organization, task: task.id } }}
          className="font-medium hover:underline"
        >
          {name}
        </TargetLink>
        {!enabled && <Badge icon={PowerOff} text="disabled" />}
      </span>
      <span className="block font-mono text-[0.9285em] text-dim">{url}</span>
    </>
  )
}

function Workspaces({ row: { task } }: { row: ShownTask }) {
  const { enabled, stages } = everywhereOf(task)
  const count = task.relationships['workspace-tasks'].data.length
  if (enabled)
    return <Badge icon={Globe} title={stages.map((stage) => STAGES[stage].text).join(', ')} text="every workspace" />
  return count === 0 ? <span className="text-dim">none</span> : counted(count, 'workspace')
}

function TaskMenu({ organization, row, mayManage }: Omit<TasksTableProps, 'rows'> & { row: ShownTask }) {
  const switchTask = useSwitchTask(organization)
  const remove = useDeleteTask(organization)
  const { task } = row
  const { name, enabled } = task.attributes
  const at = (tab: string) => ({
    to: '/app/$organization/run-tasks/$task',
    params: { organization, task: task.id },
    search: { tab },
  })
  if (!mayManage) return null
  return (
    <RowMenu
      label={`Actions for ${name}`}
      actions={[
        { text: 'Test', icon: FlaskConical, link: at('test') },
        { text: 'Settings', icon: Settings, link: at('settings') },
        {
          text: enabled ? 'Disable' : 'Enable',
          icon: enabled ? PowerOff : Power,
          onSelect: () => void switchTask(task),
        },
        {
          text: 'Delete',
          icon: Trash2,
          reason: attachedReason(task),
          confirm: {
            title: `Delete ${name}?`,
            consequence: DELETION,
            action: `Delete ${name}`,
            done: `Run task ${name} deleted`,
            onConfirm: async () => remove.mutateAsync(task.id),
          },
        },
      ]}
    />
  )
}
