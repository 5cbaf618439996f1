import { type FormEvent, Suspense, lazy, useEffect, useId, useRef, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Skeleton } from '../../components/feedback.tsx'
import { CheckField, FormErrors, SelectField, TextArea, TextField, fieldError } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'
import { type Category, type Sourced, type Variable, useSaveVariable } from './variables.ts'

const Editor = lazy(async () => import('../../components/editor.tsx'))

const FIELDS = ['key', 'value', 'description', 'category', 'hcl', 'sensitive'] as const

/** Edits a variable in place, or creates one. `others` are the workspace's own, to detect duplicates. */
export function VariableForm({
  workspaceId,
  variable,
  others,
  onClose,
}: {
  workspaceId: string
  variable: Variable | undefined
  others: readonly Sourced[]
  onClose: () => void
}) {
  const [initial] = useState(() => draftOf(variable))
  const [draft, setDraft] = useState(initial)
  const [fault, setFault] = useState<string>()
  const [isLeaving, setIsLeaving] = useState(false)
  const save = useSaveVariable(workspaceId)
  const form = useRef<HTMLFormElement>(null)
  const wasSensitive = variable?.attributes.sensitive ?? false
  const changes = changesOf(draft, initial)
  const isDirty = Object.keys(changes).length > 0
  const change = (part: Partial<Draft>) => {
    setDraft({ ...draft, ...part })
    setFault(undefined)
  }

  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input')?.focus()
  }, [])

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (save.isPending) return
    if (variable && !isDirty) {
      onClose()
      return
    }
    const isValueSent = !wasSensitive || draft.value !== ''
    if (draft.hcl && isValueSent) {
      const { hclFault } = await import('./import-formats.ts')
      const found = hclFault(draft.value)
      setFault(found)
      if (found !== undefined) return
    }
    save.mutate(variable ? { id: variable.id, ...changes } : draft, {
      onSuccess: () => {
        toast({ text: `${draft.key} is saved: the next run gets it` })
        onClose()
      },
    })
  }

  function leave() {
    if (isDirty && !isLeaving) setIsLeaving(true)
    else onClose()
  }

  const taken = others.find(
    (one) =>
      one.variable.id !== variable?.id &&
      one.variable.attributes.key === draft.key &&
      one.variable.attributes.category === draft.category,
  )
  const keyError =
    fieldError(save.error, 'key') ??
    (taken ? `there is a variable ${draft.key} of this kind already: edit that one, or choose another name` : undefined)

  return (
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
          value={draft.key}
          onChange={(event) => change({ key: event.target.value })}
          error={keyError}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
          maxLength={256}
          className="font-mono"
        />
        <SelectField
          label="Kind"
          value={draft.category}
          onChange={(event) =>
            change({ category: event.target.value as Category, ...(event.target.value === 'env' && { hcl: false }) })
          }
          options={[
            ['terraform', 'Terraform variable'],
            ['env', 'Environment variable'],
          ]}
        />
      </div>
      <ValueField
        draft={draft}
        wasSensitive={wasSensitive}
        error={fault ?? fieldError(save.error, 'value')}
        onChange={(value) => change({ value })}
      />
      <div className="flex flex-wrap gap-x-6 gap-y-2">
        {draft.category === 'terraform' && (
          <CheckField
            label="HCL"
            hint="A list, an object or another expression, not a text."
            checked={draft.hcl}
            onChange={(event) => change({ hcl: event.target.checked })}
          />
        )}
        <CheckField
          label="Sensitive"
          hint={
            wasSensitive
              ? 'Stays so: delete the variable to show a value again.'
              : 'Write-only from then on: no one can read the value again.'
          }
          checked={draft.sensitive}
          disabled={wasSensitive}
          onChange={(event) => change({ sensitive: event.target.checked })}
        />
      </div>
      <TextField
        label="Description"
        value={draft.description}
        maxLength={512}
        error={fieldError(save.error, 'description')}
        onChange={(event) => change({ description: event.target.value })}
      />
      <FormErrors error={save.error} names={FIELDS} />
      <div className="flex flex-wrap items-center gap-2">
        <Button
          type="submit"
          kind="primary"
          isPending={save.isPending}
          reason={taken ? 'the name is taken' : undefined}
        >
          Save variable
        </Button>
        <Button kind="quiet" onClick={leave}>
          {isLeaving ? 'Throw the changes away' : 'Cancel'}
        </Button>
        {isLeaving && <span role="status">The changes are not saved yet.</span>}
      </div>
    </form>
  )
}

function ValueField({
  draft,
  wasSensitive,
  error,
  onChange,
}: {
  draft: Draft
  wasSensitive: boolean
  error: string | undefined
  onChange: (value: string) => void
}) {
  const id = useId()
  const hint = wasSensitive ? 'Leave it empty to keep the value that is there.' : undefined
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
        {error !== undefined && (
          <p role="alert" className="text-bad">
            {error}
          </p>
        )}
      </div>
    </div>
  )
}

/** A variable as edited in the form. */
type Draft = {
  key: string
  value: string
  description: string
  category: Category
  hcl: boolean
  sensitive: boolean
}

const EMPTY: Draft = { key: '', value: '', description: '', category: 'terraform', hcl: false, sensitive: false }

/** The form of a variable, or of a new one. That of a sensitive one begins without its value, which no one can read. */
export function draftOf(variable: Variable | undefined): Draft {
  if (!variable) return EMPTY
  const { key, value, description, category, hcl, sensitive } = variable.attributes
  return { key, value: value ?? '', description, category, hcl, sensitive }
}

/**
 * What the person has changed, which is all that is sent: the rest may have been changed by others in the meantime. A
 * sensitive value that is left empty stays the one that is there.
 */
export function changesOf(draft: Draft, initial: Draft): Partial<Draft> {
  const names = Object.keys(draft) as (keyof Draft)[]
  return Object.fromEntries(names.filter((name) => draft[name] !== initial[name]).map((name) => [name, draft[name]]))
}
