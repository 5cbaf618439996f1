import type { LucideIcon } from 'lucide-react'
import { cloneElement, lazy, type ReactElement, type ReactNode, Suspense, useRef, useState } from 'react'
import type { Target } from './target.tsx'

export type MenuItem =
  | { text: string; icon?: LucideIcon; link: Target }
  | { text: string; icon?: LucideIcon; href: string }
  | {
      text: string
      icon?: LucideIcon
      onSelect: () => void
      isChecked?: boolean
    }
  | 'separator'

const load = async () => import('./menu-popup.tsx')
const MenuPopup = lazy(load)

/** A menu at a button. Its popup is loaded when the pointer or the focus comes near. */
export function Menu({
  trigger,
  header,
  items,
  align = 'end',
}: {
  trigger: ReactElement<Record<string, unknown>>
  header?: ReactNode
  items: readonly MenuItem[]
  align?: 'start' | 'end'
}) {
  const [isOpen, setIsOpen] = useState(false)
  const [wasOpen, setWasOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      {cloneElement(trigger, {
        ref: button,
        'aria-haspopup': 'menu',
        'aria-expanded': isOpen,
        onPointerEnter: () => void load(),
        onFocus: () => void load(),
        onClick: () => {
          setWasOpen(true)
          setIsOpen(!isOpen)
        },
      })}
      {wasOpen && (
        <Suspense>
          <MenuPopup
            anchor={button}
            isOpen={isOpen}
            onOpenChange={setIsOpen}
            header={header}
            items={items}
            align={align}
          />
        </Suspense>
      )}
    </>
  )
}
