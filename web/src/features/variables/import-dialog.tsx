import type { PageOnWire } from '@groundstate/contract/responses'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { FileUp } from 'lucide-react'
import { type ChangeEvent, useId, useState } from 'react'
import { get, queryString } from '../../api/client.ts'
import { isOfScope } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { TextArea } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { CandidateTable } from './candidate-table.tsx'
import {
  type Candidate,
  type ParsedVariable,
  type ParsedFormat,
  candidatesOf,
  changedIn,
  copied,
  formatOf,
} from './candidates.ts'
import { type Sourced, readOwnVariables, useSaveVariable } from './variables.ts'

type ImportDialogProps = {
  workspaceId: string
  /** The workspace's own variables. */
  existing: readonly Sourced[]
  isOpen: boolean
  onClose: () => void
}

/** Imports many variables at once: from a pasted or dropped file, or from another workspace, after a preview. */
export function ImportDialog({ workspaceId, existing, isOpen, onClose }: ImportDialogProps) {
  const [candidates, setCandidates] = useState<readonly Candidate[]>()
  const [faults, setFaults] = useState<readonly Extract<ParsedVariable, { fault: string }>[]>([])
  const [isSaving, setIsSaving] = useState(false)
  const save = useSaveVariable(workspaceId)
  const chosen = candidates?.filter(({ isChosen, saved }) => isChosen && saved !== 'done') ?? []
  const incomplete = chosen.filter(({ value }) => value === undefined)

  function close() {
    setCandidates(undefined)
    setFaults([])
    onClose()
  }

  function take(given: readonly ParsedVariable[], format: ParsedFormat) {
    setFaults(given.filter((one) => 'fault' in one))
    setCandidates(candidatesOf(given, existing, format === 'env' ? 'env' : 'terraform'))
  }

  function change(candidate: Candidate, changes: Partial<Candidate>) {
    setCandidates((before) => before && changedIn(before, candidate, changes))
  }

  /** Saves one after the other, so that each failure is reported and the rest are saved. */
  async function saveChosen() {
    setIsSaving(true)
    let done = 0
    for (const candidate of chosen) {
      const { key, value = '', hcl, sensitive, category, existingId } = candidate
      try {
        await save.mutateAsync({ id: existingId, key, value, hcl, sensitive, category })
        done += 1
        change(candidate, { saved: 'done' })
      } catch (error) {
        change(candidate, { saved: error instanceof Error ? error.message : String(error) })
      }
    }
    setIsSaving(false)
    toast({ text: `${counted(done, 'variable')} saved`, tone: done === chosen.length ? 'good' : 'bad' })
    if (done === chosen.length && faults.length === 0) close()
  }

  return (
    <Dialog
      title="Paste or copy variables"
      about="From a .tfvars, .tfvars.json or .env file, or from another workspace."
      isOpen={isOpen}
      onClose={close}
      width="max-w-4xl"
      footer={
        candidates ? (
          <>
            <Button kind="quiet" onClick={() => setCandidates(undefined)}>
              Back
            </Button>
            <Button
              kind="primary"
              isPending={isSaving}
              reason={
                chosen.length === 0
                  ? 'nothing is chosen'
                  : incomplete.length > 0
                    ? `give a value to ${incomplete.map(({ key }) => key).join(', ')}, or leave it out`
                    : undefined
              }
              onClick={() => void saveChosen()}
            >
              Save {counted(chosen.length, 'variable')}
            </Button>
          </>
        ) : undefined
      }
    >
      {candidates ? (
        <div className="space-y-3">
          {faults.length > 0 && (
            <Notice tone="warn">
              <p>{counted(faults.length, 'line')} can’t be taken:</p>
              <ul className="list-disc pl-5">
                {faults.map(({ line, fault }) => (
                  <li key={`${line} ${fault}`}>
                    line {line}: {fault}
                  </li>
                ))}
              </ul>
            </Notice>
          )}
          {candidates.length === 0 ? (
            <p>There is no variable in it.</p>
          ) : (
            <CandidateTable candidates={candidates} onChange={change} />
          )}
        </div>
      ) : (
        <div className="space-y-6">
          <PastedText onTake={take} />
          <OtherWorkspace
            workspaceId={workspaceId}
            onTake={(variables) => setCandidates(copied(variables, existing))}
          />
        </div>
      )}
    </Dialog>
  )
}

async function parse(text: string, format: ParsedFormat) {
  if (format === 'env') return (await import('./import-formats.ts')).parseEnv(text)
  if (format === 'json') return (await import('./import-formats.ts')).parseJsonVariables(text)
  return (await import('./import-formats.ts')).parseTfvars(text)
}

/** A file of variables is text of some KB. */
const MAX_BYTES = 1_000_000

function PastedText({ onTake }: { onTake: (given: readonly ParsedVariable[], format: ParsedFormat) => void }) {
  const [text, setText] = useState('')
  const [error, setError] = useState<Error>()
  const id = useId()

  async function take(source: string, fileName?: string) {
    const format = formatOf(source, fileName)
    onTake(await parse(source, format), format)
  }

  async function takeFile(file: File | undefined) {
    if (!file) return
    if (file.size > MAX_BYTES) setError(new Error(`${file.name} is larger than 1 MB; choose a file of variables`))
    else await take(await file.text(), file.name)
  }

  return (
    <div
      className="space-y-2"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void takeFile(event.dataTransfer.files[0])
      }}
    >
      <TextArea
        label="Paste the lines of a file here, or drop the file"
        rows={8}
        value={text}
        onChange={(event) => setText(event.target.value)}
        placeholder={'region = "eu-west-1"\n\nor\n\nAWS_REGION=eu-west-1'}
        spellCheck={false}
        autoCapitalize="none"
        className="font-mono"
      />
      {error && <ErrorNote error={error} />}
      <div className="flex flex-wrap gap-2">
        <Button
          kind="primary"
          reason={text.trim() === '' ? 'paste some lines first' : undefined}
          onClick={() => void take(text)}
        >
          Look at them
        </Button>
        <input
          id={id}
          type="file"
          accept=".tfvars,.json,.env,text/*"
          className="peer sr-only"
          aria-label="Choose a file"
          onChange={(event: ChangeEvent<HTMLInputElement>) => void takeFile(event.target.files?.[0])}
        />
        <label
          htmlFor={id}
          className="inline-flex h-8 cursor-pointer items-center gap-1.5 rounded-md border border-line px-3 font-medium peer-focus-visible:outline-2 peer-focus-visible:outline-accent hover:bg-hover"
        >
          <FileUp size={16} aria-hidden="true" />
          Choose a file
        </label>
      </div>
    </div>
  )
}

function OtherWorkspace({
  workspaceId,
  onTake,
}: {
  workspaceId: string
  onTake: (variables: Awaited<ReturnType<typeof readOwnVariables>>) => void
}) {
  const { organization } = useOpenWorkspace()
  const [q, setQ] = useState('')
  const [error, setError] = useState<Error>()
  const workspaces = useQuery({
    queryKey: ['workspaces', organization, 'to copy from', q],
    queryFn: async () =>
      get<PageOnWire<typeof workspaceSchema>>(
        `/organizations/${organization}/workspaces${queryString({ 'search[name]': q, 'page[size]': 10 })}`,
      ),
    placeholderData: (before, previous) => (isOfScope(previous, organization) ? before : undefined),
  })
  const others =
    workspaces.data?.data.filter(
      ({ id, attributes }) => id !== workspaceId && attributes.permissions['can-read-variable'],
    ) ?? []

  async function take(id: string) {
    try {
      onTake(await readOwnVariables(id))
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
  }

  return (
    <section aria-label="Another workspace" className="space-y-2">
      <h3 className="font-medium">Or copy those of another workspace</h3>
      <SearchField label="Search workspaces" value={q} onChange={setQ} />
      {error && <ErrorNote error={error} />}
      <ul className="flex flex-wrap gap-2">
        {others.map(({ id, attributes }) => (
          <li key={id}>
            <Button size="small" onClick={() => void take(id)}>
              {attributes.name}
            </Button>
          </li>
        ))}
        {workspaces.data && others.length === 0 && (
          <li className="text-dim">No other workspace whose variables you may read.</li>
        )}
      </ul>
    </section>
  )
}
