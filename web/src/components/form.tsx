import { type FormEvent, type InputHTMLAttributes, useId } from 'react'
import { ApiError } from '../api/client.ts'
import { Button } from './button.tsx'
import { ErrorNote } from './feedback.tsx'

type Field = InputHTMLAttributes<HTMLInputElement> & { label: string; name: string }

export function TextField({
  label,
  error,
  ...props
}: InputHTMLAttributes<HTMLInputElement> & { label: string; error?: string | undefined }) {
  const id = useId()
  return (
    <div>
      <label className="block text-sm font-medium">
        {label}
        <input
          className="mt-1 block w-full rounded-md border border-slate-300 bg-white px-3 py-2 text-sm aria-invalid:border-red-500 dark:border-slate-700 dark:bg-slate-900"
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : id}
          {...props}
        />
      </label>
      {error !== undefined && (
        <p id={id} role="alert" className="mt-1 text-sm whitespace-pre-line text-red-700 dark:text-red-300">
          {error}
        </p>
      )}
    </div>
  )
}

/** The error about the attribute `name`; undefined when there is none. */
export function fieldError(error: Error | null, name: string) {
  if (!(error instanceof ApiError)) return undefined
  const own = error.refusals.filter(({ pointer }) => pointer === `/data/attributes/${name}`)
  return own.length === 0 ? undefined : own.map(({ detail }) => detail).join('\n')
}

/** The errors that belong to none of the fields `names`. */
export function FormErrors({ error, names }: { error: Error | null; names: readonly string[] }) {
  if (!error) return null
  if (!(error instanceof ApiError)) return <ErrorNote error={error} />
  const pointers = new Set(names.map((name) => `/data/attributes/${name}`))
  const rest = error.refusals.filter(({ pointer }) => pointer === undefined || !pointers.has(pointer))
  if (rest.length === 0 && error.refusals.length > 0) return null
  return <ErrorNote error={new ApiError(error.status, rest)} />
}

/** The values of a form by the names of its fields. */
export function formValues(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries(
    [...new FormData(form)].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}

/**
 * A form whose fields are the attributes of a request. Errors are shown at the field that they are about. `onSubmit`
 * gets the values by name, and a function that clears the form.
 */
export function AttributesForm({ fields, action, kind = 'plain', error, isPending, onSubmit }: AttributesFormProps) {
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    onSubmit(formValues(form), () => form.reset())
  }
  return (
    <form onSubmit={submit} className="mt-4 max-w-md space-y-4">
      {fields.map((field) => (
        <TextField key={field.name} {...field} error={fieldError(error, field.name)} />
      ))}
      <FormErrors error={error} names={fields.map(({ name }) => name)} />
      <Button type="submit" kind={kind} disabled={isPending}>
        {action}
      </Button>
    </form>
  )
}

type AttributesFormProps = {
  fields: readonly Field[]
  /** The label of the button. */
  action: string
  kind?: 'primary' | 'plain' | 'danger'
  error: Error | null
  isPending: boolean
  onSubmit: (values: Record<string, string>, reset: () => void) => void
}
