import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { FormErrors } from '../../components/form.tsx'
import { toast } from '../../components/overlay-hosts.tsx'

/**
 * What a form holds: the saved values, with what has been changed on top. A value that another user saves meanwhile shows
 * through, unless it has been changed here too.
 */
export function useDraft<Values extends Record<string, string | boolean>>(saved: Values) {
  const [edits, setEdits] = useState<Partial<Values>>({})
  const values = { ...saved, ...edits }
  const changed = Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== saved[name]),
  ) as Partial<Values>
  return {
    values,
    changed,
    isDirty: Object.keys(changed).length > 0,
    set: (change: Partial<Values>) => setEdits({ ...edits, ...change }),
    reset: () => setEdits({}),
  }
}

/** A part of the settings with its own button to save. Errors are shown at the fields `names`, others above the button. */
export function SettingsForm({
  title,
  about,
  id,
  names,
  placed,
  isDirty,
  onSave,
  onReset,
  done,
  children,
}: SettingsFormProps) {
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<Error | null>(null)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [error])

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (!isDirty || isPending) return
    setIsPending(true)
    setError(null)
    try {
      await onSave()
      toast({ text: done })
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    } finally {
      setIsPending(false)
    }
  }
  return (
    <div id={id}>
      <Card title={title} about={about}>
        <form ref={form} noValidate onSubmit={(event) => void submit(event)} className="max-w-xl space-y-4">
          {children(error)}
          <FormErrors error={unplaced(error, placed)} names={names} />
          <div className="flex flex-wrap gap-2">
            <Button
              type="submit"
              kind="primary"
              isPending={isPending}
              reason={isDirty ? undefined : 'nothing has been changed'}
            >
              Save
            </Button>
            {isDirty && (
              <Button
                kind="quiet"
                onClick={() => {
                  setError(null)
                  onReset()
                }}
              >
                Discard the changes
              </Button>
            )}
          </div>
        </form>
      </Card>
    </div>
  )
}

type SettingsFormProps = {
  title: string
  about?: ReactNode
  /** Anchor id in the URL. */
  id?: string
  names: readonly string[]
  /** Other places of the body whose errors the fields show. */
  placed?: RegExp
  isDirty: boolean
  onSave: () => Promise<unknown>
  onReset: () => void
  /** Toast after saving. */
  done: string
  /** The fields; they get the error of the last attempt to save. */
  children: (error: Error | null) => ReactNode
}

/** The error without what the fields show of it; null when nothing is left. */
function unplaced(error: Error | null, placed: RegExp | undefined) {
  if (!placed || !(error instanceof ApiError)) return error
  const rest = error.refusals.filter(({ pointer }) => pointer === undefined || !placed.test(pointer))
  return rest.length === 0 && error.refusals.length > 0 ? null : new ApiError(error.status, rest)
}

/** The errors at a place of the body that is no attribute, such as a related resource. */
export function errorAt(error: Error | null, pointer: string) {
  if (!(error instanceof ApiError)) return undefined
  return error.refusals.find((refusal) => refusal.pointer?.startsWith(pointer))?.detail
}
