import { lazy, type ReactNode, Suspense, useState } from 'react'

const load = async () => import('./dialog-popup.tsx')
const DialogPopup = lazy(async () => ({ default: (await load()).DialogPopup }))
const DrawerPopup = lazy(async () => ({ default: (await load()).DrawerPopup }))

/**
 * A modal dialog. Traps the focus and restores it afterwards. Its implementation is loaded
 * when it is opened first.
 */
export function Dialog(props: DialogProps) {
  const wasOpen = useWasOpen(props.isOpen)
  return wasOpen ? (
    <Suspense>
      <DialogPopup {...props} />
    </Suspense>
  ) : null
}

/** A panel at the left edge: the navigation on a phone. */
export function Drawer(props: DrawerProps) {
  const wasOpen = useWasOpen(props.isOpen)
  return wasOpen ? (
    <Suspense>
      <DrawerPopup {...props} />
    </Suspense>
  ) : null
}

function useWasOpen(isOpen: boolean) {
  const [wasOpen, setWasOpen] = useState(isOpen)
  if (isOpen && !wasOpen) setWasOpen(true)
  return wasOpen || isOpen
}

export type DialogProps = {
  title: string
  about?: ReactNode
  isOpen: boolean
  onClose: () => void
  /** A class such as `max-w-3xl`. */
  width?: string
  /** Buttons. */
  footer?: ReactNode
  children: ReactNode
}

export type DrawerProps = {
  /** Label for screen readers. */
  label: string
  isOpen: boolean
  onClose: () => void
  children: ReactNode
}
