import type { LucideIcon } from 'lucide-react'
import { cloneElement, lazy, type ReactElement, type ReactNode, useRef, useState } from 'react'
import { LazyPopup } from './overlay-hosts.tsx'
import type { Target } from './target.tsx'

export type MenuItem =
  | ({ text: string; icon?: LucideIcon } & (
      | { link: Target }
      | { href: string }
      | { onSelect: () => void; isChecked?: boolean }
    ))
  | 'separator'

export type MenuProps = { header?: ReactNode; items: readonly MenuItem[]; align?: 'start' | 'end' }

const load = async () => import('./menu-popup.tsx')
const MenuPopup = lazy(load)

/** A menu button. The popup is loaded when the pointer or the focus reaches the button. */
export function Menu({ trigger, ...menu }: MenuProps & { trigger: ReactElement<Record<string, unknown>> }) {
  const [isOpen, setIsOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      {cloneElement(trigger, {
        ref: button,
        'aria-haspopup': 'menu',
        'aria-expanded': isOpen,
        onPointerEnter: () => void load(),
        onFocus: () => void load(),
        onClick: () => setIsOpen(!isOpen),
      })}
      <LazyPopup isOpen={isOpen}>
        <MenuPopup anchor={button} isOpen={isOpen} onOpenChange={setIsOpen} {...menu} />
      </LazyPopup>
    </>
  )
}
