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
  /** A class such as `max-w-3xl`. */
  width?: string
  footer?: ReactNode
  children: ReactNode
}

/** A modal dialog, loaded when it is first opened. Traps the focus and restores it afterwards. */
export function Dialog(props: DialogProps) {
  return (
    <LazyPopup isOpen={props.isOpen}>
      <DialogPopup {...props} />
    </LazyPopup>
  )
}

export type DrawerProps = { label: string } & Pick<DialogProps, 'isOpen' | 'onClose' | 'children'>

/** A panel at the left edge: the navigation on a narrow screen. */
export function Drawer(props: DrawerProps) {
  return (
    <LazyPopup isOpen={props.isOpen}>
      <DrawerPopup {...props} />
    </LazyPopup>
  )
}
