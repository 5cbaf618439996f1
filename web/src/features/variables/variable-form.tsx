import { type FormEvent, Suspense, lazy, useEffect, useId, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Skeleton } from '../../components/feedback.tsx'
import {
  CheckField,
  CODE_INPUT,
  FormErrors,
  SelectField,
  TextArea,
  TextField,
  fieldError,
} from '../../components/form.tsx'
import { FieldAlert } from '../../components/inline-form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { useDraft } from '../../components/settings-form.tsx'
import { UnsavedChanges } from '../../components/unsaved-changes.tsx'
import { type Variable, type VariableOwner, type WorkspaceVariable, useSaveVariable } from './variables.ts'

const Editor = lazy(async () => import('../../components/editor.tsx'))

const FIELDS = ['key', 'value', 'description', 'category', 'hcl', 'sensitive'] as const

type VariableFormProps = {
  owner: VariableOwner
  variable: Variable | undefined
  /** The owner's variables, to detect duplicates. */
  others: readonly WorkspaceVariable[]
  onClose: () => void
}

export function VariableForm({ owner, variable, others, onClose }: VariableFormProps) {
  const [initial] = useState(() => draftOf(variable))
  // Only edited attributes are sent: other users may have changed the rest in the meantime.
  const { values: draft, changed, isDirty, text, check, set } = useDraft(initial)
  const [fault, setFault] = useState<string>()
  const [isLeaving, setIsLeaving] = useState(false)
  const save = useSaveVariable(owner)
  const form = useRef<HTMLFormElement>(null)
  const wasSensitive = variable?.attributes.sensitive ?? false

  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input')?.focus()
  }, [])

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (save.isPending) return undefined
    if (variable && !isDirty) return onClose()
    // An empty sensitive value is not sent.
    if (draft.hcl && (!wasSensitive || draft.value !== '')) {
      const { hclFault } = await import('./import-formats.ts')
      const invalid = hclFault(draft.value)
      setFault(invalid)
      if (invalid !== undefined) return undefined
    }
    const onSuccess = () => {
      toast({ text: `${draft.key} saved. It applies to the next run.` })
      onClose()
    }
    return save.mutate(variable ? { id: variable.id, ...changed } : draft, { onSuccess })
  }

  function leave() {
    if (isDirty && !isLeaving) setIsLeaving(true)
    else onClose()
  }

  const isTaken = others.some(
    ({ variable: { id, attributes } }) =>
      id !== variable?.id && attributes.key === draft.key && attributes.category === draft.category,
  )
  const taken = isTaken ? `variable ${draft.key} already exists in this category` : undefined

  return (
    <>
      <UnsavedChanges isDirty={isDirty} />
      <form
        ref={form}
        aria-label={variable ? `Edit ${variable.attributes.key}` : 'New variable'}
        onSubmit={(event) => void submit(event)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') leave()
        }}
        className="space-y-3 rounded-lg border border-accent bg-paper p-4"
      >
        <div className="grid gap-3 sm:grid-cols-[1fr_14rem]">
          <TextField
            label="Name"
            name="key"
            {...text('key')}
            error={fieldError(save.error, 'key') ?? taken}
            {...CODE_INPUT}
            required
            maxLength={256}
            className="font-mono"
          />
          <SelectField
            label="Category"
            value={draft.category}
            onChange={({ target }) => set({ category: target.value, ...(target.value === 'env' && { hcl: false }) })}
            options={[
              ['terraform', 'Terraform variable'],
              ['env', 'Environment variable'],
            ]}
          />
        </div>
        <ValueField
          draft={draft}
          wasSensitive={wasSensitive}
          error={(draft.hcl && fault) || fieldError(save.error, 'value')}
          onChange={(value) => {
            set({ value })
            setFault(undefined)
          }}
        />
        <div className="flex flex-wrap gap-x-6 gap-y-2">
          {draft.category === 'terraform' && (
            <CheckField label="HCL" hint="A list, an object or another expression." {...check('hcl')} />
          )}
          <CheckField
            label="Sensitive"
            hint={
              wasSensitive
                ? 'Can’t be undone: delete the variable and create it again.'
                : 'Write-only: the value can’t be read again.'
            }
            {...check('sensitive')}
            disabled={wasSensitive}
          />
        </div>
        <TextField
          label="Description"
          {...text('description')}
          maxLength={512}
          error={fieldError(save.error, 'description')}
        />
        <FormErrors error={save.error} names={FIELDS} />
        <div className="flex flex-wrap items-center gap-2">
          <Button label="Save variable" type="submit" kind="primary" isPending={save.isPending} reason={taken} />
          <Button label={isLeaving ? 'Discard changes' : 'Cancel'} kind="quiet" onClick={leave} />
          {isLeaving && <span role="status">You have unsaved changes.</span>}
        </div>
      </form>
    </>
  )
}

type ValueFieldProps = {
  draft: Draft
  wasSensitive: boolean
  error: string | undefined
  onChange: (value: string) => void
}

function ValueField({ draft, wasSensitive, error, onChange }: ValueFieldProps) {
  const id = useId()
  const hint = wasSensitive ? 'Leave empty to keep the current value.' : undefined
  if (!draft.hcl) {
    const rows = Math.min(12, Math.max(1, draft.value.split('\n').length))
    return (
      <TextArea
        label="Value"
        rows={rows}
        value={draft.value}
        hint={hint}
        error={error}
        spellCheck={false}
        autoCapitalize="none"
        className="font-mono"
        onChange={(event) => onChange(event.target.value)}
      />
    )
  }
  return (
    <div>
      <p className="font-medium" aria-hidden="true">
        Value
      </p>
      <Suspense fallback={<Skeleton rows={2} label="Loading the editor" />}>
        <Editor label="Value" language="hcl" value={draft.value} onChange={onChange} describedBy={id} />
      </Suspense>
      <div id={id} className="mt-1">
        {hint !== undefined && <p className="text-dim">{hint}</p>}
        <FieldAlert text={error} />
      </div>
    </div>
  )
}

type Draft = ReturnType<typeof draftOf>

const EMPTY = { key: '', value: '', description: '', category: 'terraform', hcl: false, sensitive: false } as const

/** The initial form values of an existing or a new variable. A sensitive value is unknown and starts empty. */
export function draftOf(variable: Variable | undefined) {
  const { key, value, description, category, hcl, sensitive } = variable?.attributes ?? EMPTY
  return { key, value: value ?? '', description, category, hcl, sensitive }
}
