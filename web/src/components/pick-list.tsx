import { Plus, X } from 'lucide-react'
import { IconButton } from './button.tsx'
import { ErrorNote } from './feedback.tsx'
import { type Target, TargetLink } from './links.tsx'
import { Picker, type PickerPopupProps } from './picker.tsx'

export type PickedItem = { id: string; text: string; link: Target }

export type PickListProps = Pick<PickerPopupProps, 'about' | 'load' | 'placeholder'> & {
  label: string
  items: readonly PickedItem[]
  none: string
  mayChange: boolean
  addLabel: string
  /** The accessible name of the button that removes an item. */
  removeLabel: (text: string) => string
  error?: Error | null
  onAdd: (item: { id: string; text: string }) => void
  onRemove: (item: PickedItem) => void
}

/** Resources that something refers to: each is removed by its button, and more are added with a picker. */
export function PickList({ label, items, none, mayChange, addLabel, removeLabel, error, ...props }: PickListProps) {
  return (
    <div className="space-y-2">
      {items.length === 0 && <p className="text-dim">{none}</p>}
      <ul
        aria-label={label}
        className="max-h-96 divide-y divide-line overflow-y-auto rounded-md border border-line empty:hidden"
      >
        {items.map((item) => (
          <li key={item.id} className="flex items-center gap-2 px-3 py-1">
            <TargetLink leadsTo={item.link} className="min-w-0 flex-1 hover:underline">
              {item.text}
            </TargetLink>
            {mayChange && (
              <IconButton label={removeLabel(item.text)} icon={X} size="small" onClick={() => props.onRemove(item)} />
            )}
          </li>
        ))}
      </ul>
      {error && <ErrorNote error={error} />}
      {mayChange && (
        <Picker
          label={addLabel}
          icon={Plus}
          size="small"
          placeholder={props.placeholder}
          about={props.about}
          load={props.load}
          onChoose={({ value, text }) => props.onAdd({ id: value, text })}
        />
      )}
    </div>
  )
}
