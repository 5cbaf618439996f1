import { type ComponentProps, type FormEvent, type ReactNode, useId } from 'react'
import { ApiError } from '../api/client.ts'
import { Button, type ButtonKind } from './button.tsx'
import { ErrorNote } from './feedback.tsx'
import { capitalized } from './numbers.ts'

const CONTROL =
  'mt-1 block w-full rounded-md border border-line-strong bg-paper px-2.5 text-ink aria-invalid:border-bad disabled:opacity-60'

/** Props of a field for names and code, which browsers must not complete or correct. */
export const CODE_INPUT = { autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const

/** A hidden label is for screen readers only. */
type FieldProps = { label: ReactNode; hint?: ReactNode; error?: string | undefined; isLabelHidden?: boolean }

/** Splits the props of a field into those of its control, and a function that adds label, hint and error around it. */
function useField<Props extends FieldProps>({ label, hint, error, isLabelHidden = false, ...props }: Props) {
  const id = useId()
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean).join(' ')
  const frame = (element: ReactNode) => (
    <div>
      <label htmlFor={id} className={isLabelHidden ? 'sr-only' : 'block font-medium'}>
        {label}
      </label>
      {element}
      <FieldMessage id={`${id}-hint`} text={hint} className="mt-1 text-dim" />
      <FieldMessage id={`${id}-error`} text={error} className="mt-1 whitespace-pre-line text-bad" role="alert" />
    </div>
  )
  const control = { id, 'aria-describedby': described || undefined, 'aria-invalid': isInvalid(error), ...props }
  return [control, frame] as const
}

/** A hint or an error of a field; renders nothing without a text. */
export function FieldMessage({ text, ...props }: { text: ReactNode; id?: string; className: string; role?: 'alert' }) {
  return text === undefined ? null : <p {...props}>{text}</p>
}

function isInvalid(error: string | undefined) {
  return error === undefined ? undefined : true
}

export function TextField({ className = '', ...props }: FieldProps & ComponentProps<'input'>) {
  const [control, frame] = useField(props)
  return frame(<input className={`${CONTROL} h-8 ${className}`} {...control} />)
}

export function TextArea({ className = '', ...props }: FieldProps & ComponentProps<'textarea'>) {
  const [control, frame] = useField(props)
  return frame(<textarea rows={3} className={`${CONTROL} py-1.5 ${className}`} {...control} />)
}

type SelectFieldProps = FieldProps &
  ComponentProps<'select'> & { options: readonly (readonly [value: string, text: string])[] }

/** The browser's own select, which works on every device. */
export function SelectField({ options, className = '', ...props }: SelectFieldProps) {
  const [control, frame] = useField(props)
  return frame(
    <select className={`${CONTROL} h-8 ${className}`} {...control}>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>,
  )
}

type CheckFieldProps = Omit<FieldProps, 'isLabelHidden'> & ComponentProps<'input'>

export function CheckField({ label, hint, error, ...props }: CheckFieldProps) {
  const id = useId()
  return (
    <div>
      <label className="flex items-start gap-2">
        <input
          type="checkbox"
          className="mt-0.5 size-4 shrink-0 accent-accent"
          aria-describedby={hint === undefined ? undefined : id}
          aria-invalid={isInvalid(error)}
          {...props}
        />
        <span className="font-medium">{label}</span>
      </label>
      <FieldMessage id={id} text={hint} className="ml-6 text-dim" />
      <FieldMessage text={error} className="ml-6 text-bad" role="alert" />
    </div>
  )
}

/** `reason`: why an option is unavailable. */
type RadioOption = { value: string; text: string; about?: string; reason?: string | undefined }
type RadioFieldProps = {
  label: string
  name: string
  value: string
  options: readonly RadioOption[]
  onChange: (value: string) => void
}

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

export function fieldError(error: Error | null, name: string) {
  if (!(error instanceof ApiError)) return undefined
  const own = error.refusals.filter(({ pointer }) => pointer === `/data/attributes/${name}`)
  return own.length === 0 ? undefined : own.map(({ detail }) => ruleOf(detail)).join('\n')
}

const ATTRIBUTE_AND_VALUE =
  /^[\w/-]+ (?:is (?:"(?:[^"\\]|\\.)*"|invalid \(value not shown\)|null|true|false|-?[\d.]+)[:;]|is \S+;|has \d+ items;) (?=[^])/

/** `url is "": URL can't be blank` without the attribute and the value, which the field shows. */
export function ruleOf(detail: string) {
  const rule = detail
    .replace(ATTRIBUTE_AND_VALUE, '')
    .replace(/^[\w/-]+ is missing\b/, 'this value is missing')
    .replace(/^[a-z][\w/-]*(?= can't be blank)/, 'this value')
  return rule === detail ? detail : capitalized(rule)
}

/** The errors that no field shows. The fields show those of the attributes `names`, and those with a matching pointer. */
export function FormErrors({ error, names }: { error: Error | null; names: readonly (string | RegExp)[] }) {
  if (!error) return null
  if (!(error instanceof ApiError)) return <ErrorNote error={error} />
  const isShown = (pointer = '') =>
    names.some((name) => (typeof name === 'string' ? pointer === `/data/attributes/${name}` : name.test(pointer)))
  const rest = error.refusals.filter(({ pointer }) => !isShown(pointer))
  if (rest.length === 0 && error.refusals.length > 0) return null
  return <ErrorNote error={new ApiError(error.status, rest)} />
}

export function formValues(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries(
    [...new FormData(form)].flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}

type AttributesFormProps = {
  fields: readonly (ComponentProps<'input'> & { label: string; name: string; hint?: ReactNode })[]
  action: string
  kind?: ButtonKind
  mutation: {
    error: Error | null
    isPending: boolean
    mutate: (values: Record<string, string>, options: { onSuccess: () => void }) => void
  }
  /** By default, starts the mutation with the values, and clears the form when it succeeds. */
  onSubmit?: (values: Record<string, string>) => void
}

/** A form whose fields are the attributes of a request. Errors are shown at their fields. */
export function AttributesForm({ fields, action, kind, mutation, onSubmit }: AttributesFormProps) {
  const { error, isPending } = mutation
  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const values = formValues(form)
    if (onSubmit) onSubmit(values)
    else mutation.mutate(values, { onSuccess: () => form.reset() })
  }
  return (
    <form onSubmit={submit} className="max-w-md space-y-4">
      {fields.map((field) => (
        <TextField key={field.name} {...field} error={fieldError(error, field.name)} />
      ))}
      <FormErrors error={error} names={fields.map(({ name }) => name)} />
      <Button type="submit" kind={kind} isPending={isPending} label={action} />
    </form>
  )
}
