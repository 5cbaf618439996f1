import {
  type FormEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { errorOf } from '../api/client.ts'
import { Button, type ButtonProps } from './button.tsx'
import { ErrorNote } from './feedback.tsx'
import { CheckField, CODE_INPUT, TextArea, TextField } from './form.tsx'
import { useFocusRequest } from './inline-form.tsx'
import { toast } from './overlay-hosts.tsx'
import { focusHeading } from './page.tsx'

export type ConfirmPanelProps = Pick<ButtonProps, 'kind'> & {
  title: ReactNode
  consequence?: ReactNode
  /** Text to type before an irreversible action. */
  typedName?: string | undefined
  comment?: string
  /** The label of a box to check. */
  option?: string | undefined
  action: string
  /** Toast after the action. */
  done?: string
  /** Receives the comment, and whether the box is checked; errors are shown in place. */
  onConfirm: (comment: string | undefined, isOptionChosen: boolean) => Promise<unknown>
  /** Called after the action, and when the user cancels. */
  onClose: () => void
}

type ConfirmProps = Omit<ConfirmPanelProps, 'onClose'> &
  Pick<ButtonProps, 'icon' | 'size' | 'reason'> & {
    label: string
    /** Whether the address of the page opens it; `onClose` then removes this from the address. */
    isOpenedByLink?: boolean
    onClose?: () => void
  }

/** A button whose action is confirmed in place, so that no single key press can run it. */
export function Confirm({
  label,
  icon,
  size,
  reason,
  kind = 'danger',
  isOpenedByLink = false,
  onClose,
  ...panel
}: ConfirmProps) {
  const [isOpen, setIsOpen] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const requestFocus = useFocusRequest(() => opener.current)
  useFocusAfterRemoval(opener)

  function close() {
    setIsOpen(false)
    onClose?.()
    requestFocus()
  }

  if (isOpen || (isOpenedByLink && reason === undefined)) return <ConfirmPanel {...panel} kind={kind} onClose={close} />
  return <Button ref={opener} {...{ kind, size, icon, reason, label }} onClick={() => setIsOpen(true)} />
}

/** The confirmation of an action, in place of the button or menu that starts it. */
export function ConfirmPanel(props: ConfirmPanelProps) {
  const { kind = 'danger', title, consequence, typedName, comment, option, action, done, onConfirm, onClose } = props
  const [isPending, setIsPending] = useState(false)
  const [error, setError] = useState<Error>()
  const [typed, setTyped] = useState('')
  const [text, setText] = useState('')
  const [isOptionChosen, setIsOptionChosen] = useState(false)
  const panel = useRef<HTMLDivElement>(null)
  const id = useId()
  const isBlocked = typedName !== undefined && typed !== typedName
  useFocusAfterRemoval(panel)

  useEffect(() => {
    ;(panel.current?.querySelector<HTMLElement>('textarea, input') ?? panel.current)?.focus()
  }, [])

  async function submit(event: FormEvent) {
    event.preventDefault()
    if (isPending || isBlocked) return
    setIsPending(true)
    setError(undefined)
    try {
      await onConfirm(text.trim() || undefined, isOptionChosen)
      if (done !== undefined) toast({ text: done })
      onClose()
    } catch (cause) {
      setError(errorOf(cause))
    } finally {
      setIsPending(false)
    }
  }

  const isDestroying = kind === 'danger' || kind === 'destroy'
  return (
    <div
      ref={panel}
      tabIndex={-1}
      role="group"
      aria-labelledby={id}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !isPending) onClose()
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
            {...CODE_INPUT}
          />
        )}
        {comment !== undefined && (
          <TextArea label={comment} rows={2} value={text} onChange={(event) => setText(event.target.value)} />
        )}
        {option !== undefined && (
          <CheckField
            label={option}
            checked={isOptionChosen}
            onChange={(event) => setIsOptionChosen(event.target.checked)}
          />
        )}
        {error && <ErrorNote error={error} />}
        <div className="flex flex-wrap gap-2">
          <Button
            type="submit"
            kind={isDestroying ? 'destroy' : 'primary'}
            isPending={isPending}
            reason={isBlocked ? `type ${typedName} first` : undefined}
            label={action}
          />
          <Button kind="quiet" label="Cancel" onClick={onClose} />
        </div>
      </form>
    </div>
  )
}

/** If an action removes the item together with the focused element, the heading of the page gets the focus. */
function useFocusAfterRemoval(element: RefObject<HTMLElement | null>) {
  useLayoutEffect(
    () => () => {
      if (!element.current?.contains(document.activeElement)) return
      requestAnimationFrame(() => {
        if (document.activeElement === document.body) focusHeading()
      })
    },
    [element],
  )
}
