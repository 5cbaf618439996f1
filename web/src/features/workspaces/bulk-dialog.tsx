import { Check, CircleX } from 'lucide-react'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { invalidate } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Notice } from '../../components/feedback.tsx'
import { TextField } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { type Choice, Picker } from '../../components/picker.tsx'
import { actOnEach, type BulkAction, type Outcome } from './bulk-actions.ts'
import { readTag } from './tag-filter.ts'
import { findProjects, type ListedWorkspace } from './workspaces.ts'

type BulkDialogProps = {
  organization: string
  action: BulkAction
  /** The selection at the time of opening. */
  workspaces: readonly ListedWorkspace[]
  onClose: () => void
}

export default function BulkDialog({ organization, action, workspaces, onClose }: BulkDialogProps) {
  const form = useId()
  const [value, setValue] = useState<Choice>({ value: '', text: '' })
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>()
  const stop = useRef<AbortController>(undefined)
  const [isStopped, setIsStopped] = useState(false)
  const [isDone, setIsDone] = useState(false)
  const skipped = workspaces.filter((workspace) => action.obstacle(workspace) !== undefined)
  const reason = missingInput(action, value.value)

  // After the page is left, the outcomes could no longer be shown.
  useEffect(() => () => stop.current?.abort(), [])

  /** During the action, the first click stops it, and the dialog stays open to show the outcomes. */
  function leave() {
    if (outcomes === undefined || isDone || isStopped) return onClose()
    stop.current?.abort()
    return setIsStopped(true)
  }

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (outcomes || reason !== undefined) return
    setOutcomes([])
    stop.current = new AbortController()
    const { signal } = stop.current
    await actOnEach(action, { workspaces, value: value.value.trim(), signal }, (outcome) =>
      setOutcomes((known = []) => [...known, outcome]),
    )
    setIsDone(true)
    await invalidate(...['workspaces', 'runs', 'overview', 'projects', 'tags'].map((kind) => [kind, organization]))
  }

  return (
    <Dialog
      title={action.label}
      about={action.about}
      isOpen
      onClose={leave}
      footer={
        isDone ? (
          <Button label="Close" kind="primary" onClick={onClose} />
        ) : (
          <>
            <Button label={outcomes === undefined ? 'Cancel' : 'Stop'} onClick={leave} isPending={isStopped} />
            <Button
              label={`${action.label}: ${counted(workspaces.length - skipped.length, 'workspace')}`}
              type="submit"
              form={form}
              kind="primary"
              isPending={outcomes !== undefined}
              reason={reason}
            />
          </>
        )
      }
    >
      {outcomes === undefined ? (
        <form id={form} onSubmit={(event) => void submit(event)} className="space-y-4">
          <ValueField organization={organization} action={action} value={value} onChange={setValue} />
          {skipped.length > 0 && (
            <Notice tone="warn">
              <p className="font-medium">{counted(skipped.length, 'workspace')} skipped:</p>
              <ul>
                {skipped.map((workspace) => (
                  <li key={workspace.id}>
                    {workspace.attributes.name}: {action.obstacle(workspace)}
                  </li>
                ))}
              </ul>
            </Notice>
          )}
          <ul aria-label="Workspaces" className="flex flex-wrap gap-1.5">
            {workspaces
              .filter((workspace) => !skipped.includes(workspace))
              .map(({ id, attributes }) => (
                <li key={id} className="rounded-md border border-line px-2 py-0.5">
                  {attributes.name}
                </li>
              ))}
          </ul>
        </form>
      ) : (
        <Outcomes action={action} outcomes={outcomes} total={workspaces.length} isDone={isDone} />
      )}
    </Dialog>
  )
}

function missingInput({ input, isOptional = false }: BulkAction, value: string) {
  if (input === undefined || isOptional) return undefined
  if (input === 'project') return value === '' ? 'select a project' : undefined
  return readTag(value).key === '' ? 'enter a tag' : undefined
}

const TEXT_FIELDS = {
  reason: { label: 'Reason (optional)', hint: 'Shown to everyone while the workspace is locked.' },
  message: { label: 'Message (optional)', hint: 'Describes the runs.' },
  tag: { label: 'Tag', hint: 'A key, or key=value.' },
} as const

type ValueFieldProps = { organization: string; action: BulkAction; value: Choice; onChange: (value: Choice) => void }

function ValueField({ organization, action: { input }, value, onChange }: ValueFieldProps) {
  if (input === undefined) return null
  if (input === 'project')
    return (
      <div className="flex flex-wrap items-center gap-2">
        <Picker
          label={value.text === '' ? 'Select project' : 'Change project'}
          about={['projects', organization, 'create-workspace']}
          load={findProjects(organization, { permission: 'create-workspace' })}
          onChoose={onChange}
        />
        {value.text !== '' && <span className="font-medium">{value.text}</span>}
      </div>
    )
  return (
    <TextField
      {...TEXT_FIELDS[input]}
      value={value.value}
      onChange={({ target }) => onChange({ value: target.value, text: target.value })}
      maxLength={input === 'tag' ? 510 : 1000}
      autoComplete="off"
    />
  )
}

type OutcomesProps = { action: BulkAction; outcomes: readonly Outcome[]; total: number; isDone: boolean }

function Outcomes({ action, outcomes, total, isDone }: OutcomesProps) {
  const { failed = [], done = [] } = Object.groupBy(outcomes, ({ failure }) =>
    failure === undefined ? 'done' : 'failed',
  )
  return (
    <div className="space-y-3">
      <p role="status" className="font-medium">
        {!isDone && `${outcomes.length} of ${total} … `}
        {done.length} {action.done}
        {failed.length > 0 && `, ${failed.length} failed`}
        {isDone && outcomes.length < total && `, ${total - outcomes.length} not attempted`}
      </p>
      <ul className="space-y-1.5">
        {[...failed, ...done].map(({ id, name, failure }) => (
          <li key={id} className="flex items-start gap-2">
            {failure === undefined ? (
              <Check size={16} role="img" aria-label={action.done} className="mt-0.5 shrink-0 text-good" />
            ) : (
              <CircleX size={16} role="img" aria-label="failed" className="mt-0.5 shrink-0 text-bad" />
            )}
            <span>
              {name}
              {failure !== undefined && <span className="text-bad">: {failure}</span>}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}
