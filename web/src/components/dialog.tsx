import { lazy, type ReactNode } from 'react'
import { LazyPopup } from './overlay-hosts.tsx'

const load = async () => import('./dialog-popup.tsx')
const DialogPopup = lazy(async () => ({ default: (await load()).DialogPopup }))
const DrawerPopup = lazy(async () => ({ default: (await load()).DrawerPopup }))

export type DialogProps = {
  title: string
  about?: ReactNode
  isOpen: boolean
  onClose: () => void
  /** Whether it shows a secret that cannot be shown again: only the buttons of the footer close it then. */
  hasSecret?: boolean
  /** A class such as `max-w-3xl`. */
  width?: string
  footer?: ReactNode
  children: ReactNode
}

/** A modal dialog, loaded when it is first opened. Traps the focus and restores it afterwards. Ignores clicks outside, so that no input is lost. */
export function Dialog(props: DialogProps) {
  return (
    <LazyPopup isOpen={props.isOpen}>
      <DialogPopup {...props} />
    </LazyPopup>
  )
}

/** `side` is that of the screen, by default the left one. */
export type DrawerProps = { label: string; side?: 'left' | 'right' } & Pick<
  DialogProps,
  'isOpen' | 'onClose' | 'children'
>

/** A panel at an edge of the screen: the navigation on a narrow one, or details of a row at the right. */
export function Drawer(props: DrawerProps) {
  return (
    <LazyPopup isOpen={props.isOpen}>
      <DrawerPopup {...props} />
    </LazyPopup>
  )
}
