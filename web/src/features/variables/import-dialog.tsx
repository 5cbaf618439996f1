import type { PageOnWire } from '@groundstate/contract/responses'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useMutation, useQuery } from '@tanstack/react-query'
import { FileUp } from 'lucide-react'
import { type ChangeEvent, useId, useState } from 'react'
import { getData, queryString } from '../../api/client.ts'
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
import type { Candidate, ParsedFormat, ParsedVariable } from './candidates.ts'
import { changedIn, copiedCandidates, formatOf, parsedCandidates } from './candidates.ts'
import { type Variable, type WorkspaceVariable, readOwnVariables, useSaveVariable } from './variables.ts'

type ImportDialogProps = {
  workspaceId: string
  /** The workspace's own variables. */
  existing: readonly WorkspaceVariable[]
  isOpen: boolean
  onClose: () => void
}

/** Imports variables from a file or another workspace, after a preview. */
export function ImportDialog({ workspaceId, existing, isOpen, onClose }: ImportDialogProps) {
  const [candidates, setCandidates] = useState<readonly Candidate[]>()
  const [faults, setFaults] = useState<readonly Extract<ParsedVariable, { fault: string }>[]>([])
  const [isSaving, setIsSaving] = useState(false)
  const save = useSaveVariable(workspaceId)
  const selected = candidates?.filter(({ isSelected, saved }) => isSelected && saved !== 'done') ?? []
  const incomplete = selected.filter(({ value }) => value === undefined).map(({ key }) => key)
  const missing = incomplete.length > 0 ? `enter values for ${incomplete.join(', ')}, or deselect them` : undefined

  function close() {
    setCandidates(undefined)
    setFaults([])
    onClose()
  }

  function preview(parsed: readonly ParsedVariable[], format: ParsedFormat) {
    setFaults(parsed.filter((one) => 'fault' in one))
    setCandidates(parsedCandidates(parsed, existing, format === 'env' ? 'env' : 'terraform'))
  }

  function change(candidate: Candidate, changes: Partial<Candidate>) {
    setCandidates((before) => before && changedIn(before, candidate, changes))
  }

  /** Saves each variable separately, so that a failure doesn't affect the others. */
  async function saveSelected() {
    setIsSaving(true)
    let done = 0
    for (const candidate of selected) {
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
    toast({ text: `${counted(done, 'variable')} saved`, tone: done === selected.length ? 'good' : 'bad' })
    if (done === selected.length && faults.length === 0) close()
  }

  return (
    <Dialog
      title="Import variables"
      about="From a .tfvars, .tfvars.json or .env file, or from another workspace."
      isOpen={isOpen}
      onClose={close}
      width="max-w-4xl"
      footer={
        candidates ? (
          <>
            <Button label="Back" kind="quiet" onClick={() => setCandidates(undefined)} />
            <Button
              label={`Save ${counted(selected.length, 'variable')}`}
              kind="primary"
              isPending={isSaving}
              reason={selected.length === 0 ? 'no variables selected' : missing}
              onClick={() => void saveSelected()}
            />
          </>
        ) : undefined
      }
    >
      {candidates ? (
        <div className="space-y-3">
          {faults.length > 0 && (
            <Notice tone="warn">
              <p>{counted(faults.length, 'line')} can’t be imported:</p>
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
            <p>No variables found.</p>
          ) : (
            <CandidateTable candidates={candidates} onChange={change} />
          )}
        </div>
      ) : (
        <div className="space-y-6">
          <PastedText onParsed={preview} />
          <OtherWorkspace
            workspaceId={workspaceId}
            onRead={(variables) => setCandidates(copiedCandidates(variables, existing))}
          />
        </div>
      )}
    </Dialog>
  )
}

async function parse(text: string, format: ParsedFormat) {
  const { parseEnv, parseJsonVariables, parseTfvars } = await import('./import-formats.ts')
  return { env: parseEnv, json: parseJsonVariables, tfvars: parseTfvars }[format](text)
}

/** Largest file, in bytes. */
const MAX_BYTES = 1_000_000

type PastedTextProps = { onParsed: (parsed: readonly ParsedVariable[], format: ParsedFormat) => void }

function PastedText({ onParsed }: PastedTextProps) {
  const [text, setText] = useState('')
  const [error, setError] = useState<Error>()
  const id = useId()

  async function read(source: string, fileName?: string) {
    const format = formatOf(source, fileName)
    onParsed(await parse(source, format), format)
  }

  async function readFile(file: File | undefined) {
    if (!file) return
    if (file.size > MAX_BYTES) setError(new Error(`${file.name} is larger than 1 MB; select a file of variables`))
    else await read(await file.text(), file.name)
  }

  return (
    <div
      className="space-y-2"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void readFile(event.dataTransfer.files[0])
      }}
    >
      <TextArea
        label="Paste or drop a file"
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
          label="Preview"
          kind="primary"
          reason={text.trim() === '' ? 'paste a file first' : undefined}
          onClick={() => void read(text)}
        />
        <input
          id={id}
          type="file"
          accept=".tfvars,.json,.env,text/*"
          className="peer sr-only"
          aria-label="Select file"
          onChange={(event: ChangeEvent<HTMLInputElement>) => void readFile(event.target.files?.[0])}
        />
        <label
          htmlFor={id}
          className="inline-flex h-8 cursor-pointer items-center gap-1.5 rounded-md border border-line px-3 font-medium peer-focus-visible:outline-2 peer-focus-visible:outline-accent hover:bg-hover"
        >
          <FileUp size={16} />
          Select file
        </label>
      </div>
    </div>
  )
}

type OtherWorkspaceProps = { workspaceId: string; onRead: (variables: readonly Variable[]) => void }

function OtherWorkspace({ workspaceId, onRead }: OtherWorkspaceProps) {
  const { organization } = useOpenWorkspace()
  const [q, setQ] = useState('')
  const copy = useMutation({ mutationFn: readOwnVariables, onSuccess: onRead })
  const path = `/organizations/${organization}/workspaces${queryString({ 'search[name]': q, 'page[size]': 10 })}`
  const workspaces = useQuery({
    queryKey: ['workspaces', organization, 'to copy from', q],
    queryFn: async () => getData<PageOnWire<typeof workspaceSchema>>(path),
    placeholderData: (before, previous) => (isOfScope(previous, organization) ? before : undefined),
  })
  const others = (workspaces.data ?? []).filter(
    ({ id, attributes }) => id !== workspaceId && attributes.permissions['can-read-variable'],
  )
  return (
    <section aria-label="Another workspace" className="space-y-2">
      <h3 className="font-medium">Or copy from another workspace</h3>
      <SearchField label="Search workspaces" value={q} onChange={setQ} />
      {copy.error && <ErrorNote error={copy.error} />}
      <ul className="flex flex-wrap gap-2">
        {others.map(({ id, attributes }) => (
          <li key={id}>
            <Button label={attributes.name} size="small" onClick={() => copy.mutate(id)} />
          </li>
        ))}
        {workspaces.data && others.length === 0 && (
          <li className="text-dim">No other workspace with variables you can read.</li>
        )}
      </ul>
    </section>
  )
}
