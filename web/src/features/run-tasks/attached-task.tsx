import { useParams } from '@tanstack/react-router'
import { Pencil, Unplug } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { CheckField, RadioField, SelectField, fieldError } from '../../components/form.tsx'
import { FieldAlert, InlineForm, useRowForm } from '../../components/inline-form.tsx'
import { TargetLink } from '../../components/links.tsx'
import { attempt } from '../../components/overlay-hosts.tsx'
import { type RowAction, RowMenu } from '../../components/row-menu.tsx'
import { Badge } from '../../components/status.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { changeAttachment } from './attachments.ts'
import type { Attachment, Level, Task, WorkspaceTask } from './workspace-tasks.ts'
import { LEVELS, STAGES, STAGE_NAMES, useChangeAttachment } from './workspace-tasks.ts'

/** `task` is undefined for users who may not see the tasks of the organization. */
type AttachedTaskProps = { attachment: WorkspaceTask; task: Task | undefined }

export function AttachedTask({ attachment, task }: AttachedTaskProps) {
  const { workspace } = useOpenWorkspace()
  const change = useChangeAttachment(workspace.id)
  const { isOpen, open, close, place } = useRowForm()
  const { stages, 'enforcement-level': level } = attachment.attributes
  const { name = 'A run task', description, url, enabled = true } = task?.attributes ?? {}
  const taskId = attachment.relationships.task.data?.id ?? ''
  const workspaceName = workspace.attributes.name
  const detach = async () =>
    changeAttachment({
      workspaceId: workspace.id,
      taskId,
      before: attachment,
      after: undefined,
      done: `${name} detached from ${workspaceName}`,
    })
  const actions: RowAction[] = [
    { text: 'Edit', icon: Pencil, onSelect: open },
    {
      text: 'Detach',
      icon: Unplug,
      ...(level === 'mandatory'
        ? {
            confirm: {
              title: `Detach ${name} from ${workspaceName}?`,
              consequence: 'The task is mandatory here. New runs will no longer wait for it.',
              action: `Detach ${name}`,
              onConfirm: detach,
            },
          }
        : { onSelect: () => void attempt(detach) }),
    },
  ]
  return (
    <li className="space-y-3 px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <h3 className="flex flex-wrap items-center gap-2 font-medium">
            {task ? <TaskLink task={task} /> : name}
            {!enabled && <Badge text="disabled" />}
          </h3>
          {description && <p className="text-dim">{description}</p>}
          <p className="mt-1">
            {stages.map((stage) => STAGES[stage].text).join(', ')} · {LEVELS[level].text.toLowerCase()}:{' '}
            {LEVELS[level].about.toLowerCase().replace(/\.$/, '')}
          </p>
          {url !== undefined && <p className="mt-0.5 font-mono text-[0.9285em] text-dim">{url}</p>}
        </div>
        {workspace.attributes.permissions['can-manage-run-tasks'] && !isOpen && (
          <div ref={place}>
            <RowMenu label={`Actions for ${name}`} actions={actions} />
          </div>
        )}
      </div>
      {isOpen && (
        <AttachmentForm
          saved={attachment.attributes}
          action="Save"
          mutation={change}
          onCancel={() => {
            change.reset()
            close()
          }}
          onSubmit={(_, attributes) =>
            change.mutate({ id: attachment.id, attributes }, { onSuccess: () => close(`${name} saved`) })
          }
        />
      )}
    </li>
  )
}

/** The name of a task, linked to its page in the organization. */
export function TaskLink({ task }: { task: Task }) {
  const { organization = '' } = useParams({ strict: false })
  return (
    <TargetLink
      leadsTo={{ to: '/app/$organization/run-tasks/$task', params: { organization, task: task.id } }}
      className="min-w-0 font-medium hover:underline"
    >
      {task.attributes.name}
    </TargetLink>
  )
}

type AttachmentFormProps = Pick<ComponentProps<typeof InlineForm>, 'action' | 'mutation' | 'onCancel'> & {
  /** Tasks to select from; undefined for an existing attachment. */
  tasks?: readonly Task[]
  saved?: Readonly<Attachment>
  preset?: string | undefined
  onSubmit: (taskId: string, attributes: Attachment) => void
}

export function AttachmentForm({ tasks, saved, preset, onSubmit, ...form }: AttachmentFormProps) {
  const [taskId, setTaskId] = useState(preset ?? tasks?.[0]?.id ?? '')
  const [stages, setStages] = useState<ReadonlySet<string>>(new Set(saved?.stages ?? ['post_plan']))
  const [level, setLevel] = useState<string>(saved?.['enforcement-level'] ?? 'advisory')
  const selected = STAGE_NAMES.filter((stage) => stages.has(stage))
  return (
    <InlineForm
      {...form}
      names={['stages', 'enforcement-level']}
      reason={selected.length === 0 ? 'select at least one stage' : undefined}
      onSubmit={() => onSubmit(taskId, { stages: selected, 'enforcement-level': level as Level })}
    >
      {tasks && (
        <SelectField
          label="Run task"
          // The user opened the form by its button.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          value={taskId}
          onChange={({ target }) => setTaskId(target.value)}
          options={tasks.map(({ id, attributes }) => [id, attributes.name])}
        />
      )}
      <fieldset>
        <legend className="font-medium">Stages</legend>
        <div className="mt-1 space-y-1.5">
          {STAGE_NAMES.map((stage) => (
            <CheckField
              key={stage}
              label={STAGES[stage].text}
              hint={STAGES[stage].about}
              checked={stages.has(stage)}
              onChange={() => setStages(stages.symmetricDifference(new Set([stage])))}
            />
          ))}
        </div>
        <FieldAlert text={fieldError(form.mutation.error, 'stages')} />
      </fieldset>
      <RadioField
        label="Enforcement level"
        name="enforcement-level"
        value={level}
        onChange={setLevel}
        options={(Object.keys(LEVELS) as Level[]).map((value) => ({ value, ...LEVELS[value] }))}
      />
    </InlineForm>
  )
}
