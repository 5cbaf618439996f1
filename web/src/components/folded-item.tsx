import { ChevronDown, ChevronRight } from 'lucide-react'
import { type ReactNode, useId } from 'react'

type FoldedItemProps = {
  isOpen: boolean
  onToggle: () => void
  /** The button that opens the item. */
  label: ReactNode
  /** The rest of the row. */
  children: ReactNode
  /** Rendered while the item is open. */
  content: () => ReactNode
}

/** An item of a list that opens to its details. */
export function FoldedItem({ isOpen, onToggle, label, children, content }: FoldedItemProps) {
  const id = useId()
  const Chevron = isOpen ? ChevronDown : ChevronRight
  return (
    <li>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-3 py-2">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={onToggle}
          className="inline-flex min-w-0 cursor-pointer items-center gap-2 text-left hover:underline"
        >
          <Chevron size={15} className="shrink-0 text-dim" />
          {label}
        </button>
        {children}
      </div>
      <div id={id} hidden={!isOpen} className="border-t border-line px-4 py-3">
        {isOpen && content()}
      </div>
    </li>
  )
}
