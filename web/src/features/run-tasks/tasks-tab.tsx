import { Globe, ListChecks, OctagonX, Plus, TriangleAlert } from 'lucide-react'
import { useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card, CardList } from '../../components/card.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { useInlineForm } from '../../components/inline-form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Badge } from '../../components/status.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { AttachedTask, AttachmentForm, TaskLink } from './attached-task.tsx'
import { NewTaskDialog } from './new-task-dialog.tsx'
import type { Task, WorkspaceTask } from './workspace-tasks.ts'
import {
  LEVELS,
  STAGES,
  everywhereOf,
  tasksByStage,
  useAttachTask,
  useTasks,
  useWorkspaceTasks,
} from './workspace-tasks.ts'

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
  const [isCreating, setIsCreating] = useState(false)
  const [preset, setPreset] = useState<string>()
  const { isOpen, opener, open, close: closeForm } = useInlineForm()
  const attach = useAttachTask(workspace.id)
  const mayManage = workspace.attributes.permissions['can-manage-run-tasks']
  const mayCreate = mayManage && owner?.attributes.permissions['can-manage-run-tasks'] === true
  const attached = new Set(attachments.map(({ relationships }) => relationships.task.data?.id))
  const available = tasks.filter(({ id }) => !attached.has(id))
  const hasTasks = attachments.length > 0 || tasks.some((task) => everywhereOf(task).enabled)
  const reason =
    tasks.length === 0 ? 'the organization has no run tasks' : 'all run tasks of the organization are attached'

  function close(done?: string) {
    attach.reset()
    closeForm(done)
  }

  const actions = !isOpen && (
    <div className="flex flex-wrap gap-2">
      {mayManage && (
        <Button
          label="Attach run task"
          ref={opener}
          icon={Plus}
          kind={hasTasks ? 'plain' : 'primary'}
          reason={available.length === 0 ? reason : undefined}
          onClick={open}
        />
      )}
      {mayCreate && <Button label="New run task" onClick={() => setIsCreating(true)} />}
    </div>
  )
  return (
    <div className="space-y-4">
      {hasTasks ? (
        <>
          <StageCards tasks={tasks} attachments={attachments} />
          <Card
            title="Attached to this workspace"
            about={
              <>
                Tasks that run in every workspace are set up on the page of the{' '}
                <RunTasksLink organization={organization}>organization’s run tasks</RunTasksLink>.
              </>
            }
            actions={actions}
            isFlush
          >
            <CardList items={attachments} none="None.">
              {(attachment) => (
                <AttachedTask
                  key={attachment.id}
                  attachment={attachment}
                  task={tasks.find(({ id }) => id === attachment.relationships.task.data?.id)}
                />
              )}
            </CardList>
          </Card>
        </>
      ) : (
        !isOpen && (
          <EmptyState icon={ListChecks} title="No run tasks" actions={actions}>
            <p>
              A run task is an external service that checks runs: it receives the plan and reports whether the run may
              continue. A failed mandatory task stops the run, an advisory one only warns.{' '}
              <DocsLink page="run-tasks">Write a receiver</DocsLink>
            </p>
            {!mayManage && <p>Attaching a run task requires admin access to the workspace.</p>}
          </EmptyState>
        )
      )}
      {isOpen && (
        <Card title="Attach run task">
          <AttachmentForm
            tasks={available}
            preset={preset}
            action="Attach run task"
            mutation={attach}
            onCancel={close}
            onSubmit={(taskId, attributes) =>
              attach.mutate({ taskId, attributes }, { onSuccess: () => close('Run task attached') })
            }
          />
        </Card>
      )}
      <NewTaskDialog
        organization={organization}
        isOpen={isCreating}
        onClose={() => setIsCreating(false)}
        onCreated={(task) => {
          setPreset(task.id)
          setIsCreating(false)
          open()
        }}
      />
    </div>
  )
}

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
                    <TaskLink task={task} />
                    <Badge
                      tone={isMandatory ? 'bad' : 'warn'}
                      icon={isMandatory ? OctagonX : TriangleAlert}
                      title={isAfterApply ? STAGES.post_apply.about : LEVELS[level].about}
                      text={isAfterApply && isMandatory ? 'fails the stage' : LEVELS[level].verb}
                    />
                    {isGlobal && (
                      <Badge icon={Globe} title="Runs in every workspace of the organization" text="global" />
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

function RunTasksLink({ organization, children }: { organization: string; children: string }) {
  return (
    <TargetLink
      leadsTo={{ to: '/app/$organization/run-tasks', params: { organization } }}
      className="text-accent underline"
    >
      {children}
    </TargetLink>
  )
}
