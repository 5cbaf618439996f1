import { type FormEvent, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { CheckField, FormErrors, RadioField, SelectField, fieldError } from '../../components/form.tsx'
import { type Attachment, LEVELS, type Level, STAGES, STAGE_NAMES, type Task } from './workspace-tasks.ts'

const NAMES = ['stages', 'enforcement-level']
const USUAL: NonNullable<AttachmentFormProps['saved']> = { stages: ['post_plan'], 'enforcement-level': 'advisory' }

/** Asks at which stages a task is asked, and what its failure does. With `tasks` it also asks which task. */
export function AttachmentForm({
  tasks,
  saved = USUAL,
  preset,
  action,
  error,
  isPending,
  onSubmit,
  onCancel,
}: AttachmentFormProps) {
  const [taskId, setTaskId] = useState(preset ?? tasks?.[0]?.id ?? '')
  const [stages, setStages] = useState<ReadonlySet<string>>(new Set(saved.stages))
  const [level, setLevel] = useState<string>(saved['enforcement-level'])
  const chosen = STAGE_NAMES.filter((stage) => stages.has(stage))

  function submit(event: FormEvent) {
    event.preventDefault()
    onSubmit(taskId, { stages: chosen, 'enforcement-level': level as Level })
  }
  return (
    <form
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onCancel()
      }}
      className="max-w-xl space-y-4"
    >
      {tasks && (
        <SelectField
          label="Run task"
          // The form appears because its button was pressed.
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
        {fieldError(error, 'stages') !== undefined && (
          <p role="alert" className="mt-1 text-bad">
            {fieldError(error, 'stages')}
          </p>
        )}
      </fieldset>
      <RadioField
        label="A failure"
        name="enforcement-level"
        value={level}
        onChange={setLevel}
        options={(Object.keys(LEVELS) as Level[]).map((value) => ({ value, ...LEVELS[value] }))}
      />
      <FormErrors error={error} names={NAMES} />
      <div className="flex flex-wrap gap-2">
        <Button
          type="submit"
          kind="primary"
          isPending={isPending}
          reason={chosen.length === 0 ? 'choose at least one stage' : undefined}
        >
          {action}
        </Button>
        <Button kind="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  )
}

type AttachmentFormProps = {
  tasks?: readonly Task[]
  saved?: Attachment
  /** The id of the task that is chosen at first. */
  preset?: string | undefined
  action: string
  error: Error | null
  isPending: boolean
  onSubmit: (taskId: string, attributes: Attachment) => void
  onCancel: () => void
}
