import { useQuery } from '@tanstack/react-query'
import { CircleX } from 'lucide-react'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { invalidate } from '../api/queries.ts'
import type { BulkListProps } from './bulk-bar.tsx'
import { type BulkAction, type BulkField, type BulkOutcome, type BulkPage, actOnEach, readAll } from './bulk.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { ErrorNote, Notice } from './feedback.tsx'
import { RadioField, TextField } from './form.tsx'
import { counted } from './numbers.ts'
import { Picker } from './picker.tsx'
import { Progress } from './progress.tsx'

type Named = { id: string; name: string }

type BulkDialogProps = Pick<BulkListProps<Named>, 'noun' | 'total' | 'changes'> & {
  action: BulkAction<Named>
  /** The selection at the time of opening; undefined for everything that matches, which the dialog reads. */
  items: readonly Named[] | undefined
  readPage: (page: number, signal: AbortSignal) => Promise<BulkPage<Named>>
  onClose: () => void
}

/** Collects outcomes and renders at most this often, in ms: thousands of them arrive within seconds. */
const RENDER_INTERVAL_MS = 100

export default function BulkDialog({ items, ...props }: BulkDialogProps) {
  const read = useAllItems(items, props.readPage)
  if (read.items) return <ReadyDialog {...props} items={read.items} />
  return (
    <Dialog
      title={props.action.label}
      about={props.action.about}
      isOpen
      onClose={props.onClose}
      footer={<Button label="Cancel" onClick={props.onClose} />}
    >
      {read.error ? (
        <ErrorNote error={read.error} onRetry={read.retry} />
      ) : (
        <Progress label={`Reading ${props.noun}s`} done={read.count} total={props.total} />
      )}
    </Dialog>
  )
}

/** The items of the action, with the number of those read so far. */
function useAllItems(given: readonly Named[] | undefined, readPage: BulkDialogProps['readPage']) {
  const [count, setCount] = useState(0)
  const { data, error, refetch } = useQuery({
    queryKey: ['bulk', useId()],
    enabled: given === undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    queryFn: async ({ signal }) => readAll(readPage, { signal, onProgress: setCount }),
  })
  return { items: given ?? data, count, error, retry: () => void refetch() }
}

type ReadyDialogProps = Omit<BulkDialogProps, 'items' | 'readPage' | 'total'> & { items: readonly Named[] }

function ReadyDialog({ noun, action, changes, items, onClose }: ReadyDialogProps) {
  const form = useId()
  const [values, setValues] = useState<Readonly<Record<string, string>>>(() => initialValues(action))
  // Later events change the items of the page; the dialog acts on those that it has shown.
  const [{ due = [], skipped = [] }] = useState(() =>
    Object.groupBy(items, (item) => (action.obstacle(item) === undefined ? 'due' : 'skipped')),
  )
  const work = useBulkWork(action, changes)
  const problem = due.length === 0 ? `there is no ${noun} to which it applies` : problemOf(action, values)
  const { state } = work

  function submit(event: FormEvent) {
    event.preventDefault()
    if (state === undefined && problem === undefined) void work.start(due, values)
  }
  /** While it acts, the first click stops it, and the dialog stays open to show the outcomes. */
  const leave = () => (state && !state.isDone ? work.stop() : onClose())
  const failed = state?.failed ?? []
  const rest = state ? due.length - state.done - failed.length : 0
  return (
    <Dialog
      title={action.label}
      about={action.about}
      isOpen
      onClose={leave}
      footer={
        <>
          {state?.isDone && rest > 0 && (
            <Button
              label={`Continue with ${rest.toLocaleString('en')}`}
              onClick={() => void work.resume(due, values)}
            />
          )}
          {state?.isDone && failed.length > 0 && (
            <Button
              label={`Retry ${failed.length.toLocaleString('en')} failed`}
              onClick={() => void work.retry(values)}
            />
          )}
          {state?.isDone ? (
            <Button label="Close" kind="primary" onClick={onClose} />
          ) : (
            <>
              <Button label={state ? 'Stop' : 'Cancel'} onClick={leave} isPending={state?.isStopping ?? false} />
              <Button
                label={`${action.label}: ${counted(due.length, noun)}`}
                type="submit"
                form={form}
                kind={action.isDestructive ? 'destroy' : 'primary'}
                isPending={state !== undefined}
                reason={problem}
              />
            </>
          )}
        </>
      }
    >
      <div className="space-y-4">
        {state === undefined ? (
          <form id={form} onSubmit={submit} className="space-y-4">
            {action.fields?.map((field) => (
              <Field
                key={field.name}
                field={field}
                value={values[field.name] ?? ''}
                onChange={(value) => setValues({ ...values, [field.name]: value })}
              />
            ))}
            {due.length > 0 && <Names label={`${counted(due.length, noun)}:`} items={due} />}
          </form>
        ) : (
          <>
            <Progress
              label={`${counted(state.done, noun)} ${action.done}${failed.length > 0 ? `, ${failed.length.toLocaleString('en')} failed` : ''}${state.isDone && rest > 0 ? `, ${rest.toLocaleString('en')} not attempted` : ''}`}
              done={state.done + failed.length}
              total={due.length}
            />
            {failed.length > 0 && <Failures failed={failed} />}
          </>
        )}
        {skipped.length > 0 && <Skipped noun={noun} action={action} items={skipped} />}
      </div>
    </Dialog>
  )
}

type Work = { done: number; failed: readonly BulkOutcome<Named>[]; isStopping: boolean; isDone: boolean }

/** Runs an action and counts its outcomes; `state` is undefined before the start. */
function useBulkWork(action: BulkAction<Named>, changes: BulkListProps<Named>['changes']) {
  const [state, setState] = useState<Work>()
  const controller = useRef<AbortController>(undefined)
  /** Ids of the items with an outcome. */
  const attempted = useRef(new Set<string>())
  // After the page is left, the outcomes could no longer be shown.
  useEffect(() => () => controller.current?.abort(), [])

  async function run(items: readonly Named[], values: Readonly<Record<string, string>>, before: Work) {
    const work = { ...before, failed: [...before.failed], isDone: false, isStopping: false }
    controller.current = new AbortController()
    const { signal } = controller.current
    const render = () => setState({ ...work, failed: [...work.failed], isStopping: signal.aborted && !work.isDone })
    render()
    const timer = setInterval(render, RENDER_INTERVAL_MS)
    await actOnEach(
      async (item) => action.act(item, values),
      { items, signal },
      (outcome) => {
        attempted.current.add(outcome.item.id)
        if (outcome.failure === undefined) work.done += 1
        else work.failed.push(outcome)
      },
    )
    clearInterval(timer)
    work.isDone = true
    render()
    await invalidate(...changes)
  }
  const nothing: Work = { done: 0, failed: [], isStopping: false, isDone: false }
  return {
    state,
    start: async (items: readonly Named[], values: Readonly<Record<string, string>>) => run(items, values, nothing),
    stop: () => {
      controller.current?.abort()
      setState((now) => now && { ...now, isStopping: true })
    },
    retry: async (values: Readonly<Record<string, string>>) => {
      const { failed = [], done = 0 } = state ?? {}
      const items = failed.map(({ item }) => item)
      for (const { id } of items) attempted.current.delete(id)
      await run(items, values, { ...nothing, done })
    },
    resume: async (items: readonly Named[], values: Readonly<Record<string, string>>) =>
      run(
        items.filter(({ id }) => !attempted.current.has(id)),
        values,
        state ?? nothing,
      ),
  }
}

function initialValues({ fields = [] }: BulkAction<Named>) {
  return Object.fromEntries(
    fields.map((field) => [field.name, field.kind === 'radio' ? (field.options[0]?.value ?? '') : '']),
  )
}

function problemOf({ fields = [] }: BulkAction<Named>, values: Readonly<Record<string, string>>) {
  for (const field of fields) {
    const problem = 'problem' in field ? field.problem?.(values[field.name] ?? '') : undefined
    if (problem !== undefined) return problem
  }
  return undefined
}

type FieldProps = { field: BulkField; value: string; onChange: (value: string) => void }

function Field({ field, value, onChange }: FieldProps) {
  const [text, setText] = useState('')
  if (field.kind === 'radio') return <RadioField {...field} value={value} onChange={onChange} />
  if (field.kind === 'text')
    return (
      <TextField
        label={field.label}
        hint={field.hint}
        // An empty field is no error before the submit, whose button says what is missing.
        error={value.trim() === '' ? undefined : field.problem?.(value)}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        maxLength={field.maxLength ?? 1000}
        autoComplete="off"
      />
    )
  return (
    <div className="flex flex-wrap items-center gap-2">
      <Picker
        label={value === '' ? field.label : 'Change'}
        about={field.about}
        load={field.load}
        onChoose={(choice) => {
          setText(choice.text)
          onChange(choice.value)
        }}
      />
      {value !== '' && <span className="font-medium">{text}</span>}
    </div>
  )
}

/** Names beyond this number are only counted. */
const MAX_NAMES = 100

function Names({ label, items }: { label: string; items: readonly Named[] }) {
  const more = items.length - MAX_NAMES
  return (
    <div className="space-y-1.5">
      <p className="text-dim">{label}</p>
      <ul aria-label="Selected" className="flex max-h-48 flex-wrap gap-1.5 overflow-y-auto" tabIndex={0}>
        {items.slice(0, MAX_NAMES).map(({ id, name }) => (
          <li key={id} className="rounded-md border border-line px-2 py-0.5">
            {name}
          </li>
        ))}
        {more > 0 && <li className="px-2 py-0.5 text-dim">and {more.toLocaleString('en')} more</li>}
      </ul>
    </div>
  )
}

type SkippedProps = { noun: string; action: BulkAction<Named>; items: readonly Named[] }

/** Items that the action skips, by reason. */
function Skipped({ noun, action, items }: SkippedProps) {
  const reasons = [...Map.groupBy(items, action.obstacle)]
  return (
    <Notice tone="warn">
      <p className="font-medium">{counted(items.length, noun)} skipped:</p>
      <ul>
        {reasons.map(([reason, left]) => (
          <li key={reason}>
            {reason}:{' '}
            {left
              .slice(0, 5)
              .map(({ name }) => name)
              .join(', ')}
            {left.length > 5 && ` and ${(left.length - 5).toLocaleString('en')} more`}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function Failures({ failed }: { failed: readonly BulkOutcome<Named>[] }) {
  const more = failed.length - MAX_NAMES
  return (
    <ul aria-label="Failed" className="space-y-1.5">
      {failed.slice(0, MAX_NAMES).map(({ item, failure }) => (
        <li key={item.id} className="flex items-start gap-2">
          <CircleX size={16} className="mt-0.5 shrink-0 text-bad" />
          <span className="min-w-0">
            {item.name}: <span className="text-bad">{failure}</span>
          </span>
        </li>
      ))}
      {more > 0 && <li className="text-dim">and {more.toLocaleString('en')} more</li>}
    </ul>
  )
}
