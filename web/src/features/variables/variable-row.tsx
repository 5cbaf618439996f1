import { Pencil } from 'lucide-react'
import { useState } from 'react'
import { Button, IconButton } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { Badge } from '../../components/status.tsx'
import { type Sourced, useDeleteVariable } from './variables.ts'

/** A value is cut behind so many characters or lines, until it is opened. */
const SHOWN_CHARACTERS = 300
const SHOWN_LINES = 6

const SCOPES = {
  workspace: 'applied to this workspace',
  project: 'applied to the project',
  global: 'applied to all workspaces of its owner',
} as const

/** One variable: its name, its value, where it comes from, and whether a run gets it. */
export function VariableRow({
  workspaceId,
  sourced,
  mayChange,
  onEdit,
}: {
  workspaceId: string
  sourced: Sourced
  mayChange: boolean
  onEdit: () => void
}) {
  const { variable, set, overwriter, overwritten } = sourced
  const { key, hcl, sensitive, description, value } = variable.attributes
  const remove = useDeleteVariable(workspaceId)
  const isOverwritten = overwriter !== undefined
  return (
    <div className="grid gap-x-4 gap-y-1 px-4 py-2.5 md:grid-cols-[minmax(10rem,2fr)_3fr_minmax(9.5rem,auto)]">
      <div className="min-w-0">
        <span className={`font-mono font-medium ${isOverwritten ? 'text-dim line-through' : ''}`}>{key}</span>
        <span className="ml-2 inline-flex flex-wrap gap-1 align-middle">
          {hcl && <Badge>HCL</Badge>}
          {sensitive && <Badge tone="warn">sensitive</Badge>}
          {set && (
            <Badge tone="busy" title={SCOPES[set.scope]}>
              set {set.name}
              {set.priority ? ', priority' : ''}
            </Badge>
          )}
        </span>
        {description !== '' && <p className="text-dim">{description}</p>}
        {isOverwritten && <p className="text-warn">No run gets it: {nameOf(overwriter)} takes its place.</p>}
        {overwritten.map((loser) => (
          <p key={loser.id} className="text-dim">
            Takes the place of {nameOf(loser)}.
          </p>
        ))}
      </div>
      <div className={`min-w-0 ${isOverwritten ? 'opacity-80' : ''}`}>
        <Value value={value} />
      </div>
      <div className="flex flex-wrap items-start justify-end gap-1">
        {value !== null && value !== '' && <CopyButton text={value} label={`Copy the value of ${key}`} />}
        {mayChange && !set && (
          <>
            <IconButton label={`Edit ${key}`} icon={Pencil} size="small" onClick={onEdit} />
            <Confirm
              label="Delete"
              size="small"
              kind="danger"
              title={`Delete ${key}?`}
              consequence={consequenceOf(sourced)}
              action={`Delete ${key}`}
              onConfirm={async () => {
                await remove.mutateAsync(variable.id)
                toast({ text: `${key} is deleted` })
              }}
            />
          </>
        )}
      </div>
    </div>
  )
}

/** "the workspace's own", "that of the set defaults". */
function nameOf({ set }: Sourced) {
  return set ? `that of the set “${set.name}”` : 'the workspace’s own'
}

function consequenceOf({ variable, overwriter, overwritten: [next] }: Sourced) {
  const lost = variable.attributes.sensitive ? ' Its value can’t be read again.' : ''
  if (overwriter) return `Runs don’t get it now, so nothing changes for them.${lost}`
  return next ? `The next run gets ${nameOf(next)} instead.${lost}` : `The next run goes without it.${lost}`
}

function Value({ value }: { value: string | null }) {
  const [isOpen, setIsOpen] = useState(false)
  if (value === null) return <span className="text-dim">write-only: it is never shown again</span>
  if (value === '') return <span className="text-dim">empty text</span>
  const cut = value.split('\n').slice(0, SHOWN_LINES).join('\n').slice(0, SHOWN_CHARACTERS)
  return (
    <>
      <pre className="font-mono text-[0.9285rem] whitespace-pre-wrap">{isOpen ? value : cut}</pre>
      {cut.length < value.length && (
        <Button kind="quiet" size="small" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {isOpen ? 'Show less' : 'Show all'}
        </Button>
      )}
    </>
  )
}
