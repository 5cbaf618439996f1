import { Dialog as Primitive } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { IconButton } from './button.tsx'
import type { DialogProps, DrawerProps } from './dialog.tsx'

export function DialogPopup({ title, about, width = 'max-w-xl', footer, children, ...props }: DialogProps) {
  const { isOpen, onClose, hasSecret = false } = props
  return (
    <Modal isOpen={isOpen} onClose={() => !hasSecret && onClose()} ignoresClicks>
      <Primitive.Popup
        className={`fixed top-[8vh] left-1/2 z-40 flex max-h-[84vh] w-[calc(100vw-2rem)] -translate-x-1/2 flex-col rounded-lg border border-line bg-raised shadow-xl ${width}`}
      >
        <header className="flex items-start gap-3 border-b border-line px-4 py-3">
          <div className="min-w-0 flex-1">
            <Primitive.Title className="text-base font-semibold">{title}</Primitive.Title>
            {about !== undefined && <Primitive.Description className="mt-0.5 text-dim">{about}</Primitive.Description>}
          </div>
          {!hasSecret && <IconButton label="Close" icon={X} onClick={onClose} />}
        </header>
        <div className="min-h-0 flex-1 overflow-y-auto px-4 py-4">{children}</div>
        {footer !== undefined && (
          <footer className="flex flex-wrap justify-end gap-2 border-t border-line px-4 py-3">{footer}</footer>
        )}
      </Primitive.Popup>
    </Modal>
  )
}

const SIDES = { left: 'left-0 w-80 max-w-[85vw] border-r', right: 'right-0 w-[38rem] max-w-full border-l' } as const

export function DrawerPopup({ label, side = 'left', children, ...props }: DrawerProps) {
  return (
    <Modal {...props}>
      <Primitive.Popup
        aria-label={label}
        className={`fixed inset-y-0 z-40 overflow-y-auto border-line bg-raised shadow-xl ${SIDES[side]}`}
      >
        {children}
      </Primitive.Popup>
    </Modal>
  )
}

type ModalProps = Pick<DialogProps, 'isOpen' | 'onClose' | 'children'> & { ignoresClicks?: boolean }

/** `ignoresClicks`: whether a click outside leaves it open. */
export function Modal({ isOpen, onClose, ignoresClicks = false, children }: ModalProps) {
  return (
    <Primitive.Root open={isOpen} onOpenChange={(open) => !open && onClose()} disablePointerDismissal={ignoresClicks}>
      <Primitive.Portal>
        <Primitive.Backdrop className="fixed inset-0 z-40 bg-black/40" />
        {children}
      </Primitive.Portal>
    </Primitive.Root>
  )
}
