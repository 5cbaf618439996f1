import {
  type FormEvent,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import { ApiError } from '../api/client.ts'
import { Button, type ButtonKind } from './button.tsx'
import { ErrorNote } from './feedback.tsx'

const CONTROL =
  'mt-1 block w-full rounded-md border border-line-strong bg-paper px-2.5 text-ink aria-invalid:border-bad disabled:opacity-60'

type Common = {
  label: ReactNode
  /** A sentence below the field. */
  hint?: ReactNode
  error?: string | undefined
  /** The label is for screen readers only, where the place says what the field is. */
  isLabelHidden?: boolean
}

/** A label, a control, its hint and its error. The control gets `id` and the ids of its descriptions. */
function Field({
  label,
  hint,
  error,
  isLabelHidden = false,
  renderControl,
}: Common & {
  renderControl: (props: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': boolean | undefined
  }) => ReactNode
}) {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div>
      <label htmlFor={id} className={isLabelHidden ? 'sr-only' : 'block font-medium'}>
        {label}
      </label>
      {renderControl({
        id,
        'aria-describedby': described || undefined,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="mt-1 text-dim">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p id={`${id}-error`} role="alert" className="mt-1 whitespace-pre-line text-bad">
          {error}
        </p>
      )}
    </div>
  )
}

export function TextField({
  label,
  hint,
  error,
  isLabelHidden,
  className = '',
  ...props
}: Common & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Field
      {...{ label, hint, error }}
      isLabelHidden={isLabelHidden ?? false}
      renderControl={(described) => <input className={`${CONTROL} h-8 ${className}`} {...described} {...props} />}
    />
  )
}

export function TextArea({
  label,
  hint,
  error,
  isLabelHidden,
  className = '',
  ...props
}: Common & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field
      {...{ label, hint, error }}
      isLabelHidden={isLabelHidden ?? false}
      renderControl={(described) => (
        <textarea rows={3} className={`${CONTROL} py-1.5 ${className}`} {...described} {...props} />
      )}
    />
  )
}

/** A choice of one; `options` are value and text. The browser's own control: it works on every device. */
export function SelectField({
  label,
  hint,
  error,
  isLabelHidden,
  options,
  className = '',
  ...props
}: Common &
  SelectHTMLAttributes<HTMLSelectElement> & { options: readonly (readonly [value: string, text: string])[] }) {
  return (
    <Field
      {...{ label, hint, error }}
      isLabelHidden={isLabelHidden ?? false}
      renderControl={(described) => (
        <select className={`${CONTROL} h-8 ${className}`} {...described} {...props}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    />
  )
}

/** A box to tick, with its sentence. */
export function CheckField({
  label,
  hint,
  error,
  ...props
}: Omit<Common, 'isLabelHidden'> & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  return (
    <div>
      <label className="flex items-start gap-2">
        <input
          type="checkbox"
          className="mt-0.5 size-4 shrink-0 accent-accent"
          aria-describedby={hint === undefined ? undefined : id}
          aria-invalid={error === undefined ? undefined : true}
          {...props}
        />
        <span className="font-medium">{label}</span>
      </label>
      {hint !== undefined && (
        <p id={id} className="ml-6 text-dim">
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p role="alert" className="ml-6 text-bad">
          {error}
        </p>
      )}
    </div>
  )
}

/** A choice of one of a few, each with a sentence. */
export function RadioField({ label, name, value, options, onChange }: RadioFieldProps) {
  return (
    <fieldset>
      <legend className="font-medium">{label}</legend>
      <div className="mt-1 grid gap-2">
        {options.map((option) => (
          <label
            key={option.value}
            className="flex cursor-pointer items-start gap-2 rounded-md border border-line px-3 py-2 has-checked:border-accent has-checked:bg-accent-soft"
          >
            <input
              type="radio"
              name={name}
              value={option.value}
              checked={value === option.value}
              onChange={() => onChange(option.value)}
              disabled={option.reason !== undefined}
              className="mt-0.5 size-4 shrink-0 accent-accent"
            />
            <span className="min-w-0">
              <span className="font-medium">{option.text}</span>
              <span className="block text-dim">{option.reason ?? option.about}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

type RadioFieldProps = {
  label: string
  name: string
  value: string
  options: readonly {
    value: string
    text: string
    about?: string
    /** Why it can't be chosen. */ reason?: string | undefined
  }[]
  onChange: (value: string) => void
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

type AttributeField = InputHTMLAttributes<HTMLInputElement> & { label: string; name: string; hint?: ReactNode }

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
    <form onSubmit={submit} className="max-w-md space-y-4">
      {fields.map((field) => (
        <TextField key={field.name} {...field} error={fieldError(error, field.name)} />
      ))}
      <FormErrors error={error} names={fields.map(({ name }) => name)} />
      <Button type="submit" kind={kind} isPending={isPending}>
        {action}
      </Button>
    </form>
  )
}

type AttributesFormProps = {
  fields: readonly AttributeField[]
  /** The label of the button. */
  action: string
  kind?: ButtonKind
  error: Error | null
  isPending: boolean
  onSubmit: (values: Record<string, string>, reset: () => void) => void
}
