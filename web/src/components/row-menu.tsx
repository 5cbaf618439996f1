import { Ellipsis, type LucideIcon } from 'lucide-react'
import { type ReactElement, type ReactNode, useRef, useState } from 'react'
import { IconButton } from './button.tsx'
import { ConfirmPanel, type ConfirmPanelProps } from './confirm.tsx'
import { useFocusRequest } from './inline-form.tsx'
import type { Target } from './links.tsx'
import { Menu, type MenuItem } from './menu.tsx'

export type RowAction = {
  text: string
  icon?: LucideIcon
  /** Disables the action and gives the reason. */
  reason?: string | undefined
} & ({ link: Target } | { onSelect: () => void; isChecked?: boolean } | { confirm: Omit<ConfirmPanelProps, 'onClose'> })

type RowMenuProps = {
  label: string
  actions: readonly (RowAction | undefined | false)[]
  header?: ReactNode
  /** The button of the menu, in place of the usual one. */
  trigger?: ReactElement<Record<string, unknown>>
}

/** The actions of a row, in a menu. Those with `confirm` are confirmed in its place. */
export function RowMenu({ label, actions, header, trigger }: RowMenuProps) {
  const [confirming, setConfirming] = useState<string>()
  const place = useRef<HTMLDivElement>(null)
  const shown = actions.filter((action) => action !== undefined && action !== false)
  const open = shown.find(({ text }) => text === confirming)
  const requestFocus = useFocusRequest(() => (open ? undefined : place.current?.querySelector('button')))
  if (shown.length === 0) return null

  function close() {
    setConfirming(undefined)
    requestFocus()
  }
  const items = shown.map((action): MenuItem =>
    'confirm' in action ? { ...action, onSelect: () => setConfirming(action.text) } : action,
  )
  return (
    <div ref={place} className="inline-block text-left">
      {open && 'confirm' in open ? (
        <ConfirmPanel {...open.confirm} onClose={close} />
      ) : (
        <Menu
          items={items}
          header={header}
          trigger={trigger ?? <IconButton label={label} icon={Ellipsis} size="small" />}
        />
      )}
    </div>
  )
}
