import type { LucideIcon } from 'lucide-react'
import { cloneElement, lazy, type ReactElement, type ReactNode } from 'react'
import type { Target } from './links.tsx'
import { LazyPopup, usePopup } from './overlay-hosts.tsx'

export type MenuItem =
  | ({
      text: string
      icon?: LucideIcon
      /** Disables the item and gives the reason. */
      reason?: string | undefined
    } & ({ link: Target } | { href: string } | { onSelect: () => void; isChecked?: boolean }))
  | 'separator'

export type MenuProps = { header?: ReactNode; items: readonly MenuItem[]; align?: 'start' | 'end' }

const load = async () => import('./menu-popup.tsx')
const MenuPopup = lazy(load)

export function Menu({ trigger, ...menu }: MenuProps & { trigger: ReactElement<Record<string, unknown>> }) {
  const { trigger: props, popup } = usePopup(load)
  return (
    <>
      {cloneElement(trigger, { 'aria-haspopup': 'menu', ...props })}
      <LazyPopup isOpen={popup.open}>
        <MenuPopup {...popup} {...menu} />
      </LazyPopup>
    </>
  )
}
