import { Unplug } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { sendAndRefetch } from '../../api/queries.ts'
import { Confirm } from '../../components/confirm.tsx'
import { CheckField, RadioField, SelectField, fieldError } from '../../components/form.tsx'
import { EditableRow, FieldAlert, InlineForm } from '../../components/inline-form.tsx'
import { Badge } from '../../components/status.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import type { Attachment, Level, Task, WorkspaceTask } from './workspace-tasks.ts'
import { LEVELS, STAGES, STAGE_NAMES, useChangeAttachment } from './workspace-tasks.ts'

/** `task` is undefined for users who may not see the tasks of the organization. */
type AttachedTaskProps = { attachment: WorkspaceTask; task: Task | undefined }

export function AttachedTask({ attachment, task }: AttachedTaskProps) {
  const { workspace } = useOpenWorkspace()
  const change = useChangeAttachment(workspace.id)
  const { stages, 'enforcement-level': level } = attachment.attributes
  const { name = 'A run task', description, url, enabled = true } = task?.attributes ?? {}
  return (
    <EditableRow
      title={
        <>
          {name}
          {!enabled && <Badge text="disabled" />}
        </>
      }
      editLabel={`Edit ${name}`}
      mayEdit={workspace.attributes.permissions['can-manage-run-tasks']}
      remove={
        <Confirm
          label="Detach"
          icon={Unplug}
          size="small"
          title={`Detach ${name} from ${workspace.attributes.name}?`}
          consequence="New runs will no longer include it. The task remains in the organization."
          action={`Detach ${name}`}
          done={`${name} detached`}
          onConfirm={async () =>
            sendAndRefetch('DELETE', `/workspaces/${workspace.id}/tasks/${attachment.id}`, [
              'workspace-tasks',
              workspace.id,
            ])
          }
        />
      }
      renderForm={(close) => (
        <AttachmentForm
          saved={attachment.attributes}
          action="Save"
          mutation={change}
          onCancel={close}
          onSubmit={(_, attributes) =>
            change.mutate({ id: attachment.id, attributes }, { onSuccess: () => close(`${name} saved`) })
          }
        />
      )}
    >
      {description && <p className="text-dim">{description}</p>}
      <p className="mt-1">
        {stages.map((stage) => STAGES[stage].text).join(', ')} · {LEVELS[level].text.toLowerCase()}:{' '}
        {LEVELS[level].about.toLowerCase().replace(/\.$/, '')}
      </p>
      {url !== undefined && <p className="mt-0.5 font-mono text-[0.9285em] text-dim">{url}</p>}
    </EditableRow>
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
