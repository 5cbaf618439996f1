import type { LucideIcon } from 'lucide-react'
import { type FormEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import { Button, type ButtonKind } from './button.tsx'
import { ErrorNote } from './feedback.tsx'
import { TextArea, TextField } from './form.tsx'
import { focusHeading } from './page.tsx'

/**
 * A button whose action is confirmed in place: the consequence, an optional comment, and the name to
 * type where nothing brings it back. No single key press can run it: the button opens, another one acts.
 */
export function Confirm({
  label,
  icon,
  kind = 'danger',
  size,
  reason,
  title,
  consequence,
  typedName,
  comment,
  action,
  onConfirm,
}: ConfirmProps) {
  const [isOpen, setIsOpen] = useState(false)
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<Error>()
  const [typed, setTyped] = useState('')
  const [text, setText] = useState('')
  const opener = useRef<HTMLButtonElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const id = useId()

  useEffect(() => {
    if (isOpen) (panel.current?.querySelector<HTMLElement>('textarea, input') ?? panel.current)?.focus()
  }, [isOpen])

  // The item may disappear together with its button, at once or later: then the heading of the page gets the focus.
  useLayoutEffect(
    () => () => {
      const focused = document.activeElement
      if (!focused || !(opener.current === focused || panel.current?.contains(focused))) return
      requestAnimationFrame(() => {
        if (document.activeElement === document.body) focusHeading()
      })
    },
    [],
  )

  function close() {
    setIsOpen(false)
    setTyped('')
    setText('')
    setError(undefined)
    // The opener is drawn again by then.
    requestAnimationFrame(() => {
      if (opener.current) opener.current.focus()
      else if (document.activeElement === document.body) focusHeading()
    })
  }

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (isPending || (typedName !== undefined && typed !== typedName)) return
    setIsPending(true)
    setError(undefined)
    try {
      await onConfirm(text.trim() === '' ? undefined : text.trim())
      close()
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    } finally {
      setIsPending(false)
    }
  }

  if (!isOpen) {
    return (
      <Button
        ref={opener}
        kind={kind}
        {...(size && { size })}
        icon={icon}
        reason={reason}
        onClick={() => setIsOpen(true)}
      >
        {label}
      </Button>
    )
  }
  const isDestroying = kind === 'danger' || kind === 'destroy'
  return (
    <div
      ref={panel}
      tabIndex={-1}
      role="group"
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !isPending) close()
      }}
      className={`w-full max-w-lg min-w-64 rounded-lg border bg-paper p-4 text-left whitespace-normal ${isDestroying ? 'border-bad/50' : 'border-line-strong'}`}
    >
      <form className="space-y-3" onSubmit={(event) => void submit(event)}>
        <p id={id} className="font-medium">
          {title}
        </p>
        {consequence !== undefined && <div className={isDestroying ? 'text-bad' : 'text-dim'}>{consequence}</div>}
        {typedName !== undefined && (
          <TextField
            label={
              <>
                Type <code className="rounded bg-hover px-1">{typedName}</code> to confirm
              </>
            }
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
          />
        )}
        {comment !== undefined && (
          <TextArea label={comment} rows={2} value={text} onChange={(event) => setText(event.target.value)} />
        )}
        {error && <ErrorNote error={error} />}
        <div className="flex flex-wrap gap-2">
          <Button
            type="submit"
            kind={isDestroying ? 'destroy' : 'primary'}
            isPending={isPending}
            reason={typedName !== undefined && typed !== typedName ? `type ${typedName} first` : undefined}
          >
            {action}
          </Button>
          <Button kind="quiet" onClick={close}>
            Keep it as it is
          </Button>
        </div>
      </form>
    </div>
  )
}

type ConfirmProps = {
  /** The label of the button that opens. */
  label: string
  icon?: LucideIcon
  kind?: ButtonKind
  size?: 'small' | 'medium' | 'large'
  /** Why the action does not apply now. */
  reason?: string | undefined
  /** The question. */
  title: ReactNode
  /** Name of the item to delete. */
  consequence?: ReactNode
  /** Text to type before an action that can't be undone. */
  typedName?: string | undefined
  /** The label of an optional comment. */
  comment?: string
  /** The label of the button that acts. */
  action: string
  /** Gets the comment; what it throws is shown in place. */
  onConfirm: (comment: string | undefined) => Promise<unknown>
}
