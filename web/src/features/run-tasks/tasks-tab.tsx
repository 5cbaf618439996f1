import { Globe, ListChecks, OctagonX, Plus, TriangleAlert } from 'lucide-react'
import { useRef, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Badge } from '../../components/status.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { AttachedTask, AttachmentForm } from './attached-task.tsx'
import { NewTaskDialog } from './new-task-dialog.tsx'
import {
  LEVELS,
  STAGES,
  type Task,
  type WorkspaceTask,
  tasksByStage,
  useAttachTask,
  useTasks,
  useWorkspaceTasks,
} from './workspace-tasks.ts'

/** The run tasks of the workspace's runs, by stage. */
export function TasksTab() {
  const { organization, workspace } = useOpenWorkspace()
  const tasks = useTasks(organization)
  const attachments = useWorkspaceTasks(workspace.id)
  const failure = failureOf(tasks, attachments)
  if (failure) return <ErrorNote {...failure} />
  if (!tasks.data || !attachments.data) return <Skeleton label="Loading the tasks" />
  return <Tasks tasks={tasks.data} attachments={attachments.data} />
}

type TasksProps = { tasks: readonly Task[]; attachments: readonly WorkspaceTask[] }

function Tasks({ tasks, attachments }: TasksProps) {
  const { organization, workspace } = useOpenWorkspace()
  const { data: owner } = useOrganization(organization)
  const [open, setOpen] = useState<'attach' | 'new'>()
  const [preset, setPreset] = useState<string>()
  const opener = useRef<HTMLButtonElement>(null)
  const attach = useAttachTask(workspace.id)
  const mayManage = workspace.attributes.permissions['can-manage-run-tasks']
  const mayCreate = mayManage && owner?.attributes.permissions['can-manage-run-tasks'] === true
  const attached = new Set(attachments.map(({ relationships }) => relationships.task.data?.id))
  const available = tasks.filter(({ id }) => !attached.has(id))
  const hasTasks = attachments.length > 0 || tasks.some(({ attributes }) => attributes['global-configuration'].enabled)
  const reason =
    tasks.length === 0 ? 'the organization has no run tasks' : 'all run tasks of the organization are attached'

  function close() {
    setOpen(undefined)
    attach.reset()
    // The button is rendered again only after this update.
    requestAnimationFrame(() => opener.current?.focus())
  }

  const actions = open !== 'attach' && (
    <div className="flex flex-wrap gap-2">
      {mayManage && (
        <Button
          ref={opener}
          icon={Plus}
          kind={hasTasks ? 'plain' : 'primary'}
          reason={available.length === 0 ? reason : undefined}
          onClick={() => setOpen('attach')}
        >
          Attach run task
        </Button>
      )}
      {mayCreate && <Button onClick={() => setOpen('new')}>New run task</Button>}
    </div>
  )
  return (
    <div className="space-y-4">
      {hasTasks ? (
        <>
          <StageCards tasks={tasks} attachments={attachments} />
          <Card
            title="Attached to this workspace"
            about="Global run tasks are configured in the organization."
            actions={actions}
            isFlush
          >
            {attachments.length === 0 && <p className="px-4 pb-4 text-dim">None.</p>}
            <ul className="divide-y divide-line border-t border-line empty:hidden">
              {attachments.map((attachment) => (
                <AttachedTask
                  key={attachment.id}
                  attachment={attachment}
                  task={tasks.find(({ id }) => id === attachment.relationships.task.data?.id)}
                />
              ))}
            </ul>
          </Card>
        </>
      ) : (
        open !== 'attach' && (
          <EmptyState icon={ListChecks} title="No run tasks" actions={actions}>
            <p>
              A run task is an external service that checks runs: it receives the plan and reports whether the run may
              continue. A failed mandatory task stops the run, an advisory one only warns.
            </p>
            {!mayManage && <p>Attaching a run task requires admin access to the workspace.</p>}
          </EmptyState>
        )
      )}
      {open === 'attach' && (
        <Card title="Attach run task">
          <AttachmentForm
            tasks={available}
            preset={preset}
            action="Attach run task"
            error={attach.error}
            isPending={attach.isPending}
            onCancel={close}
            onSubmit={(taskId, attributes) => {
              const onSuccess = () => {
                toast({ text: 'Run task attached' })
                close()
              }
              attach.mutate({ taskId, attributes }, { onSuccess })
            }}
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

/** Tasks of the workspace's runs, by stage in order. */
function StageCards({ tasks, attachments }: TasksProps) {
  return (
    <ol className="grid gap-3 sm:grid-cols-2 xl:grid-cols-4">
      {tasksByStage(tasks, attachments).map((stage) => (
        <li key={stage.stage} className="rounded-lg border border-line bg-paper px-4 py-3">
          <h2 className="font-medium">{STAGES[stage.stage].text}</h2>
          <p className="text-dim">{STAGES[stage.stage].about}</p>
          {stage.tasks.length === 0 ? (
            <p className="mt-2 text-dim">No tasks.</p>
          ) : (
            <ul className="mt-2 space-y-1.5">
              {stage.tasks.map(({ task, level, isGlobal }) => {
                const isAfterApply = stage.stage === 'post_apply'
                const isMandatory = level === 'mandatory'
                return (
                  <li key={task.id} className="flex flex-wrap items-center gap-1.5">
                    <span className="min-w-0 font-medium">{task.attributes.name}</span>
                    <Badge
                      tone={isMandatory ? 'bad' : 'warn'}
                      icon={isMandatory ? OctagonX : TriangleAlert}
                      title={isAfterApply ? STAGES.post_apply.about : LEVELS[level].about}
                    >
                      {isAfterApply && isMandatory ? 'fails the stage' : LEVELS[level].verb}
                    </Badge>
                    {isGlobal && (
                      <Badge icon={Globe} title="Runs in every workspace of the organization">
                        global
                      </Badge>
                    )}
                  </li>
                )
              })}
            </ul>
          )}
        </li>
      ))}
    </ol>
  )
}
