import { ListChecks, Plus } from 'lucide-react'
import { useRef, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { AttachedTask } from './attached-task.tsx'
import { AttachmentForm } from './attachment-form.tsx'
import { NewTaskDialog } from './new-task-dialog.tsx'
import { StageCards } from './stage-cards.tsx'
import { type Task, useAttachTask, useTasks, useWorkspaceTasks, type WorkspaceTask } from './workspace-tasks.ts'

/** Which run tasks the runs of the workspace ask, and when. */
export function TasksTab() {
  const { organization, workspace } = useOpenWorkspace()
  const tasks = useTasks(organization)
  const attachments = useWorkspaceTasks(workspace.id)
  const failure = failureOf(tasks, attachments)
  if (failure) return <ErrorNote {...failure} />
  if (!tasks.data || !attachments.data) return <Skeleton label="Loading the tasks" />
  return <Tasks tasks={tasks.data} attachments={attachments.data} />
}

function Tasks({ tasks, attachments }: { tasks: readonly Task[]; attachments: readonly WorkspaceTask[] }) {
  const { organization, workspace } = useOpenWorkspace()
  const { data: owner } = useOrganization(organization)
  const [open, setOpen] = useState<'attach' | 'new'>()
  const [preset, setPreset] = useState<string>()
  const opener = useRef<HTMLButtonElement>(null)
  const attach = useAttachTask(workspace.id)
  const { name, permissions } = workspace.attributes
  const mayManage = permissions['can-manage-run-tasks']
  const mayCreate = mayManage && owner?.attributes.permissions['can-manage-run-tasks'] === true
  const attached = new Set(attachments.map(({ relationships }) => relationships.task.data?.id))
  const free = tasks.filter(({ id }) => !attached.has(id))
  const isUsed = attachments.length > 0 || tasks.some(({ attributes }) => attributes['global-configuration'].enabled)

  function close() {
    setOpen(undefined)
    attach.reset()
    // The button is drawn again by then.
    requestAnimationFrame(() => opener.current?.focus())
  }

  const actions = open !== 'attach' && (
    <div className="flex flex-wrap gap-2">
      {mayManage && (
        <Button
          ref={opener}
          icon={Plus}
          kind={isUsed ? 'plain' : 'primary'}
          reason={
            tasks.length === 0
              ? 'the organization has no run task yet'
              : free.length === 0
                ? 'every run task of the organization is attached'
                : undefined
          }
          onClick={() => setOpen('attach')}
        >
          Attach a task
        </Button>
      )}
      {mayCreate && <Button onClick={() => setOpen('new')}>New run task</Button>}
    </div>
  )
  return (
    <div className="space-y-4">
      {isUsed ? (
        <>
          <StageCards tasks={tasks} attachments={attachments} />
          <Card
            title="Attached to this workspace"
            about="Tasks that the organization asks everywhere are set up in the organization."
            actions={actions}
            isFlush
          >
            {attachments.length === 0 && <p className="px-4 pb-4 text-dim">None.</p>}
            <ul className="divide-y divide-line border-t border-line empty:hidden">
              {attachments.map((attachment) => (
                <AttachedTask
                  key={attachment.id}
                  workspaceId={workspace.id}
                  workspaceName={name}
                  attachment={attachment}
                  task={tasks.find(({ id }) => id === attachment.relationships.task.data?.id)}
                  mayManage={mayManage}
                />
              ))}
            </ul>
          </Card>
        </>
      ) : (
        open !== 'attach' && (
          <EmptyState icon={ListChecks} title="No task is asked here" actions={actions}>
            <p>
              A run task is a service of yours that a run asks for a verdict: it gets the plan, and says whether the run
              may go on. A mandatory task stops the run, an advisory one warns.
            </p>
            {!mayManage && <p>To attach one takes admin access to the workspace.</p>}
          </EmptyState>
        )
      )}
      {open === 'attach' && (
        <Card title="Attach a task">
          <AttachmentForm
            tasks={free}
            preset={preset}
            action="Attach the task"
            error={attach.error}
            isPending={attach.isPending}
            onCancel={close}
            onSubmit={(taskId, attributes) =>
              attach.mutate(
                { taskId, attributes },
                {
                  onSuccess: () => {
                    toast({ text: 'The task is attached' })
                    close()
                  },
                },
              )
            }
          />
        </Card>
      )}
      <NewTaskDialog
        organization={organization}
        isOpen={open === 'new'}
        onClose={() => setOpen(undefined)}
        onCreated={(task) => {
          setPreset(task.id)
          setOpen('attach')
        }}
      />
    </div>
  )
}
