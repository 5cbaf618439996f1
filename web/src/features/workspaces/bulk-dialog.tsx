import { useQueryClient } from '@tanstack/react-query'
import { Check, CircleX } from 'lucide-react'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
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
  /** Those that were selected when it was opened. */
  workspaces: readonly ListedWorkspace[]
  onClose: () => void
}

/** Says what is about to be done and to which workspaces, does it, and says what has become of each. */
export default function BulkDialog({ organization, action, workspaces, onClose }: BulkDialogProps) {
  const queries = useQueryClient()
  const form = useId()
  const [value, setValue] = useState<Choice>({ value: '', text: '' })
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>()
  const stop = useRef<AbortController>(undefined)
  const [isStopped, setIsStopped] = useState(false)
  const [isDone, setIsDone] = useState(false)
  const left = workspaces.filter((workspace) => action.obstacle(workspace) !== undefined)
  const count = workspaces.length - left.length

  // No one could follow what is done after the page is left.
  useEffect(() => () => stop.current?.abort(), [])

  /** While it acts, the first press holds back the rest, and the dialog stays to say how far it came. */
  function leave() {
    if (outcomes === undefined || isDone || isStopped) {
      onClose()
      return
    }
    stop.current?.abort()
    setIsStopped(true)
  }

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (outcomes || missing(action, value.value) !== undefined) return
    setOutcomes([])
    stop.current = new AbortController()
    const { signal } = stop.current
    await actOnEach(action, { workspaces, value: value.value.trim(), signal }, (outcome) =>
      setOutcomes((known = []) => [...known, outcome]),
    )
    setIsDone(true)
    await Promise.all(
      ['workspaces', 'runs', 'overview', 'projects', 'tags'].map(async (kind) =>
        queries.invalidateQueries({ queryKey: [kind, organization] }),
      ),
    )
  }

  return (
    <Dialog
      title={action.title}
      about={action.about}
      isOpen
      onClose={leave}
      footer={
        isDone ? (
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        ) : (
          <>
            <Button onClick={leave} isPending={isStopped}>
              {outcomes === undefined ? 'Cancel' : 'Stop'}
            </Button>
            <Button
              type="submit"
              form={form}
              kind="primary"
              isPending={outcomes !== undefined}
              reason={missing(action, value.value)}
            >
              {action.label}: {counted(count, 'workspace')}
            </Button>
          </>
        )
      }
    >
      {outcomes === undefined ? (
        <form id={form} onSubmit={(event) => void submit(event)} className="space-y-4">
          <ValueField organization={organization} action={action} value={value} onChange={setValue} />
          {left.length > 0 && <LeftOut action={action} workspaces={left} />}
          <WorkspaceNames workspaces={workspaces.filter((workspace) => !left.includes(workspace))} />
        </form>
      ) : (
        <Outcomes action={action} outcomes={outcomes} total={workspaces.length} isDone={isDone} />
      )}
    </Dialog>
  )
}

/** Fields to fill in before it can begin. */
function missing({ asks, isOptional = false }: BulkAction, value: string) {
  if (asks === undefined || isOptional) return undefined
  if (asks === 'project') return value === '' ? 'choose a project first' : undefined
  return readTag(value).key === '' ? 'write the tag first' : undefined
}

const TEXT_FIELDS = {
  reason: { label: 'Reason (optional)', hint: 'Shown to everyone while the workspace is locked.' },
  message: { label: 'Message (optional)', hint: 'What the runs are for.' },
  tag: { label: 'Tag', hint: 'A key, or key=value.' },
} as const

function ValueField({
  organization,
  action: { asks },
  value,
  onChange,
}: {
  organization: string
  action: BulkAction
  value: Choice
  onChange: (value: Choice) => void
}) {
  if (asks === undefined) return null
  if (asks === 'project')
    return (
      <div className="flex flex-wrap items-center gap-2">
        <Picker
          label={value.text === '' ? 'Choose a project' : 'Choose another project'}
          about={['projects', organization, 'create-workspace']}
          load={async (text, signal) => findProjects({ organization, permission: 'create-workspace' }, text, signal)}
          onChoose={onChange}
        />
        {value.text !== '' && <span className="font-medium">{value.text}</span>}
      </div>
    )
  return (
    <TextField
      {...TEXT_FIELDS[asks]}
      value={value.value}
      onChange={({ target }) => onChange({ value: target.value, text: target.value })}
      maxLength={asks === 'tag' ? 510 : 1000}
      autoComplete="off"
    />
  )
}

function LeftOut({ action, workspaces }: { action: BulkAction; workspaces: readonly ListedWorkspace[] }) {
  return (
    <Notice tone="warn">
      <p className="font-medium">{counted(workspaces.length, 'workspace')} left out:</p>
      <ul>
        {workspaces.map((workspace) => (
          <li key={workspace.id}>
            {workspace.attributes.name}: {action.obstacle(workspace)}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function WorkspaceNames({ workspaces }: { workspaces: readonly ListedWorkspace[] }) {
  return (
    <ul aria-label="Workspaces" className="flex flex-wrap gap-1.5">
      {workspaces.map(({ id, attributes }) => (
        <li key={id} className="rounded-md border border-line px-2 py-0.5">
          {attributes.name}
        </li>
      ))}
    </ul>
  )
}

function Outcomes({
  action,
  outcomes,
  total,
  isDone,
}: {
  action: BulkAction
  outcomes: readonly Outcome[]
  total: number
  isDone: boolean
}) {
  const failed = outcomes.filter(({ failure }) => failure !== undefined)
  const done = outcomes.length - failed.length
  return (
    <div className="space-y-3">
      <p role="status" className="font-medium">
        {!isDone && `${outcomes.length} of ${total} … `}
        {done} {action.done}
        {failed.length > 0 && `, ${failed.length} not`}
        {isDone && outcomes.length < total && `; stopped before the other ${total - outcomes.length}`}
      </p>
      <ul className="space-y-1.5">
        {failed.concat(outcomes.filter(({ failure }) => failure === undefined)).map(({ id, name, failure }) => (
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
