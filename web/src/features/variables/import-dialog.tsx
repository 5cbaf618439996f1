import type { PageOnWire } from '@groundstate/contract/responses'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useMutation, useQuery } from '@tanstack/react-query'
import { FileUp } from 'lucide-react'
import { type ChangeEvent, useId, useState } from 'react'
import { errorOf, getData, queryString } from '../../api/client.ts'
import { keepWithin } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { TextArea } from '../../components/form.tsx'
import { counted } from '../../components/numbers.ts'
import { toast } from '../../components/overlay-hosts.tsx'
import { Badge } from '../../components/status.tsx'
import type { Candidate, ParsedFormat, ParsedVariable } from './candidates.ts'
import { changedIn, copiedCandidates, effectOf, formatOf, parsedCandidates } from './candidates.ts'
import {
  type Variable,
  type VariableOwner,
  type WorkspaceVariable,
  readOwnVariables,
  useSaveVariable,
} from './variables.ts'

type ImportDialogProps = {
  owner: VariableOwner
  /** The owner's variables. */
  existing: readonly WorkspaceVariable[]
  isOpen: boolean
  onClose: () => void
}

/** Imports variables from a file or another workspace, after a preview. */
export function ImportDialog({ owner, existing, isOpen, onClose }: ImportDialogProps) {
  const [candidates, setCandidates] = useState<readonly Candidate[]>()
  const [faults, setFaults] = useState<readonly Extract<ParsedVariable, { fault: string }>[]>([])
  const [isSaving, setIsSaving] = useState(false)
  const save = useSaveVariable(owner)
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
        change(candidate, { saved: errorOf(error).message })
      }
    }
    setIsSaving(false)
    toast({ text: `${counted(done, 'variable')} saved`, tone: done === selected.length ? 'good' : 'bad' })
    if (done === selected.length && faults.length === 0) close()
  }

  return (
    <Dialog
      title="Import variables"
      about="From a .tfvars, .tfvars.json or .env file, or from a workspace."
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
          <OtherWorkspace owner={owner} onRead={(variables) => setCandidates(copiedCandidates(variables, existing))} />
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

type OtherWorkspaceProps = { owner: VariableOwner; onRead: (variables: readonly Variable[]) => void }

function OtherWorkspace({ owner: { id: ownerId, organization }, onRead }: OtherWorkspaceProps) {
  const [q, setQ] = useState('')
  const copy = useMutation({ mutationFn: readOwnVariables, onSuccess: onRead })
  const path = `/organizations/${organization}/workspaces${queryString({ 'search[name]': q, 'page[size]': 10 })}`
  const workspaces = useQuery({
    queryKey: ['workspaces', organization, 'to copy from', q],
    queryFn: async () => getData<PageOnWire<typeof workspaceSchema>>(path),
    placeholderData: keepWithin(organization),
  })
  const others = (workspaces.data ?? []).filter(
    ({ id, attributes }) => id !== ownerId && attributes.permissions['can-read-variable'],
  )
  return (
    <section aria-label="Another workspace" className="space-y-2">
      <h3 className="font-medium">Or copy from a workspace</h3>
      <SearchField label="Search workspaces" value={q} onChange={setQ} />
      {copy.error && <ErrorNote error={copy.error} />}
      <ul className="flex flex-wrap gap-2">
        {others.map(({ id, attributes }) => (
          <li key={id}>
            <Button label={attributes.name} size="small" onClick={() => copy.mutate(id)} />
          </li>
        ))}
        {workspaces.data && others.length === 0 && (
          <li className="text-dim">No workspace has variables that you can read.</li>
        )}
      </ul>
    </section>
  )
}

const TONES = { new: 'good', changed: 'warn', unchanged: 'quiet' } as const

type CandidateTableProps = {
  candidates: readonly Candidate[]
  onChange: (candidate: Candidate, changes: Partial<Candidate>) => void
}

/** Preview of an import: each variable can be selected and marked sensitive. */
function CandidateTable({ candidates, onChange }: CandidateTableProps) {
  return (
    <div className="overflow-x-auto rounded-lg border border-line">
      <table className="w-full border-collapse text-left">
        <caption className="sr-only">Variables to import</caption>
        <thead>
          <tr className="border-b border-line text-dim">
            {['Variable', 'Value', 'Sensitive', 'Status'].map((header) => (
              <th key={header} scope="col" className="px-3 py-2 font-medium">
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {candidates.map((candidate) => (
            <CandidateRow
              key={`${candidate.category} ${candidate.key}`}
              candidate={candidate}
              onChange={(changes) => onChange(candidate, changes)}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function CandidateRow({
  candidate,
  onChange,
}: {
  candidate: Candidate
  onChange: (changes: Partial<Candidate>) => void
}) {
  const { key, value, hcl, sensitive, category, before, isSelected, saved } = candidate
  const effect = effectOf(candidate)
  return (
    <tr className="border-b border-line align-top last:border-0">
      <th scope="row" className="px-3 py-1.5 font-normal">
        <label className="flex items-start gap-2">
          <input
            type="checkbox"
            className="mt-1 size-4 accent-accent"
            checked={isSelected}
            disabled={saved === 'done'}
            onChange={(event) => onChange({ isSelected: event.target.checked })}
          />
          <span>
            <span className="font-mono">{key}</span>
            <span className="ml-2 inline-flex gap-1">
              {hcl && <Badge text="HCL" />}
              {category === 'env' && <Badge text="env" />}
            </span>
          </span>
        </label>
      </th>
      <td className="max-w-72 px-3 py-1.5">
        {value === undefined || sensitive ? (
          <input
            type="password"
            aria-label={`Value of ${key}`}
            autoComplete="off"
            placeholder="Enter a value"
            value={value ?? ''}
            onChange={(event) => onChange({ value: event.target.value, isSelected: true })}
            className="h-7 w-full rounded-md border border-line-strong bg-paper px-2 font-mono"
          />
        ) : (
          <div className="max-h-24 overflow-hidden font-mono text-[0.9285rem] whitespace-pre-wrap">
            {effect === 'changed' && before !== null && <del className="block text-bad">{before}</del>}
            <span className={effect === 'changed' ? 'text-good' : ''}>{value}</span>
          </div>
        )}
      </td>
      <td className="px-3 py-1.5">
        <input
          type="checkbox"
          aria-label={`${key} is sensitive`}
          className="size-4 accent-accent"
          checked={sensitive}
          // A sensitive variable remains sensitive.
          disabled={before === null || saved === 'done'}
          onChange={(event) => onChange({ sensitive: event.target.checked })}
        />
      </td>
      <td className="px-3 py-1.5">
        {saved === undefined || saved === 'done' ? (
          <Badge tone={saved ? 'good' : TONES[effect]} text={saved ? 'saved' : effect} />
        ) : (
          <span role="alert" className="text-bad">
            {saved}
          </span>
        )}
      </td>
    </tr>
  )
}
