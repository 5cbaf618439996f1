import { type ChangeEvent, type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { ApiError, errorOf } from '../api/client.ts'
import { Button } from './button.tsx'
import { Card } from './card.tsx'
import { FormErrors, fieldError, ruleOf } from './form.tsx'
import { toast } from './overlay-hosts.tsx'
import { UnsavedChanges } from './unsaved-changes.tsx'

/** State of a form: saved values, overlaid by edits. Values that other users save in the meantime appear unless edited here. */
export function useDraft<Values extends Record<string, string | boolean | undefined>>(saved: Values) {
  const [edits, setEdits] = useState<Partial<Values>>({})
  const [error, setError] = useState<Error | null>(null)
  const values = { ...saved, ...edits }
  const changed = changesOf(values, saved)
  const set = (change: { [Name in keyof Values]?: string | boolean | undefined }) =>
    setEdits({ ...edits, ...(change as Partial<Values>) })
  return {
    values,
    changed,
    isDirty: Object.keys(changed).length > 0,
    set,
    reset: () => setEdits({}),
    error,
    setError,
    text: (name: keyof Values & string, attribute: string = name) => ({
      value: String(values[name]),
      onChange: ({ target }: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) =>
        set({ [name]: target.value } as Partial<Values>),
      error: fieldError(error, attribute),
    }),
    check: (name: keyof Values & string) => ({
      checked: values[name] === true,
      onChange: ({ target }: ChangeEvent<HTMLInputElement>) => set({ [name]: target.checked } as Partial<Values>),
      error: fieldError(error, name),
    }),
  }
}

export function changesOf<Values extends object>(values: Values, initial: Values) {
  const changes = Object.entries(values).filter(([name, value]) => value !== initial[name as keyof Values])
  return Object.fromEntries(changes) as Partial<Values>
}

type SettingsFormProps = {
  title: string
  about?: ReactNode
  /** The content for users who may not change these settings. */
  readOnly?: ReactNode
  /** Attributes, and pointers of others, whose errors the fields show. */
  names: readonly (string | RegExp)[]
  /** Its `error` is that of the last attempt to save. */
  draft: Pick<ReturnType<typeof useDraft>, 'isDirty' | 'reset' | 'error' | 'setError'>
  /** Saves the draft, which is reset afterwards. */
  onSave: () => Promise<unknown>
  done?: string
  /** Why the draft cannot be saved. */
  problem?: string | undefined
  children: ReactNode
}

/** A section of the settings with its own save button. Errors that no field shows are above the button. */
export function SettingsForm({ title, about, readOnly, names, draft, onSave, ...props }: SettingsFormProps) {
  const [isPending, setIsPending] = useState(false)
  const { error, setError } = draft
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (!draft.isDirty || isPending || props.problem !== undefined) return
    setIsPending(true)
    setError(null)
    try {
      await onSave()
      draft.reset()
      toast({ text: props.done ?? 'Settings saved' })
    } catch (cause) {
      setError(errorOf(cause))
    } finally {
      setIsPending(false)
    }
  }
  function discard() {
    setError(null)
    draft.reset()
  }
  if (readOnly) return <Card title={title}>{readOnly}</Card>
  return (
    <Card title={title} about={about}>
      <UnsavedChanges isDirty={draft.isDirty} isSaving={isPending} onDiscard={discard} />
      <form ref={form} noValidate onSubmit={(event) => void submit(event)} className="max-w-xl space-y-4">
        {props.children}
        <FormErrors error={error} names={names} />
        <div className="flex flex-wrap gap-2">
          <Button
            label="Save"
            type="submit"
            kind="primary"
            isPending={isPending}
            reason={draft.isDirty ? props.problem : 'no changes to save'}
          />
          {draft.isDirty && <Button label="Discard changes" kind="quiet" onClick={discard} />}
        </div>
      </form>
    </Card>
  )
}

/** The first error below a pointer that is no attribute, such as that of a relationship. */
export function errorAt(error: Error | null, pointer: string) {
  if (!(error instanceof ApiError)) return undefined
  const refusal = error.refusals.find((refusal) => refusal.pointer?.startsWith(pointer))
  return refusal && ruleOf(refusal.detail)
}
