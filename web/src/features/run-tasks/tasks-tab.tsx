import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { taskSchema } from '@groundstate/contract/run-tasks'
import { Globe, ListChecks, OctagonX, Plus, TriangleAlert } from 'lucide-react'
import { type FormEvent, useId, useState } from 'react'
import { request } from '../../api/client.ts'
import { failureOf, useChange } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Card, CardList } from '../../components/card.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { FormErrors, TextField, fieldError, formValues } from '../../components/form.tsx'
import { useInlineForm } from '../../components/inline-form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Badge } from '../../components/status.tsx'
import { useOrganization } from '../organizations/organizations.ts'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { AttachedTask, AttachmentForm } from './attached-task.tsx'
import type { Task, WorkspaceTask } from './workspace-tasks.ts'
import { LEVELS, STAGES, tasksByStage, useAttachTask, useTasks, useWorkspaceTasks } from './workspace-tasks.ts'

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
  const hasTasks = attachments.length > 0 || tasks.some(({ attributes }) => attributes['global-configuration'].enabled)
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
            about="Global run tasks are configured in the organization."
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
              continue. A failed mandatory task stops the run, an advisory one only warns.
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
                    <span className="min-w-0 font-medium">{task.attributes.name}</span>
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

const NEW_TASK_FIELDS = [
  { name: 'name', label: 'Name', autoComplete: 'off' },
  { name: 'url', label: 'URL', type: 'url', placeholder: 'https://checks.example.com/terraform', autoComplete: 'off' },
  {
    name: 'hmac-key',
    label: 'HMAC key (optional)',
    type: 'password',
    autoComplete: 'new-password',
    hint: 'Signs each request. It cannot be shown again.',
  },
  { name: 'description', label: 'Description (optional)', autoComplete: 'off' },
]

type NewTaskDialogProps = {
  organization: string
  isOpen: boolean
  onClose: () => void
  onCreated: (task: Task) => void
}

function NewTaskDialog({ organization, isOpen, onClose, onCreated }: NewTaskDialogProps) {
  const create = useCreateTask(organization)
  const form = useId()

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    create.mutate(formValues(event.currentTarget), {
      onSuccess: ({ data }) => {
        toast({ text: `Run task ${data.attributes.name} created` })
        onCreated(data)
      },
    })
  }
  return (
    <Dialog
      title="New run task"
      about="An external service that checks runs. The server verifies now that it responds."
      isOpen={isOpen}
      onClose={onClose}
      footer={
        <>
          <Button label="Cancel" onClick={onClose} />
          <Button label="Create run task" type="submit" form={form} kind="primary" isPending={create.isPending} />
        </>
      }
    >
      <form id={form} noValidate onSubmit={submit} className="space-y-4">
        {NEW_TASK_FIELDS.map((field) => (
          <TextField key={field.name} {...field} error={fieldError(create.error, field.name)} />
        ))}
        <FormErrors error={create.error} names={NEW_TASK_FIELDS.map(({ name }) => name)} />
      </form>
    </Dialog>
  )
}

/** Creates a run task, after the server has verified its receiver. */
function useCreateTask(organization: string) {
  return useChange(
    async ({ name = '', url = '', description = '', 'hmac-key': key = '' }: Record<string, string>) => {
      const optional = { description: description.trim() || null, ...(key !== '' && { 'hmac-key': key }) }
      return request<DocumentOnWire<typeof taskSchema>>('POST', `/organizations/${organization}/tasks`, {
        data: { type: 'tasks', attributes: { name: name.trim(), url: url.trim(), category: 'task', ...optional } },
      })
    },
    ['tasks', organization],
  )
}
