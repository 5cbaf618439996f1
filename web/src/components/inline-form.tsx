import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Button } from './button.tsx'
import { FieldMessage, FormErrors } from './form.tsx'
import { toast } from './overlay-hosts.tsx'
import type { Choice } from './picker.tsx'

type InlineFormProps = {
  action: string
  mutation: { error: Error | null; isPending: boolean }
  /** Attributes whose errors the fields show. */
  names?: readonly string[]
  reason?: string | undefined
  size?: 'small' | 'medium'
  onSubmit: (form: HTMLFormElement) => void
  onCancel: () => void
  children: ReactNode
}

/** A form opened by a button in the page. Escape cancels it. */
export function InlineForm({ action, mutation, names, reason, size = 'medium', ...props }: InlineFormProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        props.onSubmit(event.currentTarget)
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape') props.onCancel()
      }}
      className={`text-ink ${size === 'small' ? 'space-y-2' : 'max-w-xl space-y-4'}`}
    >
      {props.children}
      <FormErrors error={mutation.error} names={names ?? []} />
      <div className="flex flex-wrap gap-2">
        <Button
          label={action}
          type="submit"
          kind="primary"
          size={size}
          isPending={mutation.isPending}
          reason={reason}
        />
        <Button label="Cancel" kind="quiet" size={size} onClick={() => props.onCancel()} />
      </div>
    </form>
  )
}

/** A function that focuses the element that `find` returns, once the update that renders it is done. */
export function useFocusRequest(find: () => HTMLElement | null | undefined) {
  const isRequested = useRef(false)
  useEffect(() => {
    const target = isRequested.current ? find() : undefined
    if (!target) return
    isRequested.current = false
    target.focus()
  })
  return () => {
    isRequested.current = true
  }
}

/** State of a form that a button opens in place. `close` shows a toast and returns the focus to the button. */
export function useInlineForm() {
  const [isOpen, setIsOpen] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const requestFocus = useFocusRequest(() => (isOpen ? undefined : opener.current))
  function close(done?: string) {
    setIsOpen(false)
    if (done !== undefined) toast({ text: done })
    requestFocus()
  }
  return { isOpen, opener, open: () => setIsOpen(true), close }
}

/** As `useInlineForm`, for a form that the menu of a row opens; `place` is the element with the menu. */
export function useRowForm() {
  const [isOpen, setIsOpen] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const requestFocus = useFocusRequest(() => (isOpen ? undefined : place.current?.querySelector('button')))
  function close(done?: string) {
    setIsOpen(false)
    if (done !== undefined) toast({ text: done })
    requestFocus()
  }
  return { isOpen, place, open: () => setIsOpen(true), close }
}

/** As `useRowForm`, for a form about what was selected in a picker; `place` is the element with the picker. */
export function usePickedForm() {
  const [selected, select] = useState<Choice>()
  const { place, close } = useRowForm()
  function closeForm(done?: string) {
    select(undefined)
    close(done)
  }
  return { selected, select, place, close: closeForm }
}

/** Calls `focus` when a form that the URL opens has closed, with what `open` was. */
export function useFocusOnClose(open: string | undefined, focus: (closed: string) => void) {
  const before = useRef(open)
  useEffect(() => {
    if (before.current !== undefined && open === undefined) focus(before.current)
    before.current = open
  })
}

/** An error below a field that does not show its own. */
export function FieldAlert({ text }: { text: string | undefined }) {
  return <FieldMessage text={text} className="mt-1 text-bad" role="alert" />
}
