import { Popover } from '@base-ui/react/popover'
import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { type RefObject, useState } from 'react'
import { isOfScope } from '../api/queries.ts'
import { useSettled } from './filters.tsx'
import type { Choice, PickerProps } from './picker.tsx'

/** The popup of a picker; see `picker.tsx`. */
export default function PickerPopup({
  label,
  anchor,
  isOpen,
  onOpenChange,
  ...search
}: Omit<PickerProps, 'icon' | 'size' | 'reason'> & {
  anchor: RefObject<HTMLButtonElement | null>
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
}) {
  return (
    <Popover.Root
      open={isOpen}
      onOpenChange={(open, details) => {
        // The button closes it by itself.
        if (!open && details.event.target instanceof Node && anchor.current?.contains(details.event.target)) return
        onOpenChange(open)
      }}
    >
      <Popover.Portal>
        <Popover.Positioner anchor={anchor} sideOffset={4} align="start" className="z-50">
          <Popover.Popup
            aria-label={label}
            finalFocus={anchor}
            className="w-72 max-w-[calc(100vw-2rem)] overflow-hidden rounded-lg border border-line bg-raised shadow-lg outline-none"
          >
            <Choices label={label} {...search} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** The server has filtered by the text already. */
function Choices({ label, placeholder, about, load, freeText, onChoose }: Omit<PickerProps, 'icon' | 'size'>) {
  const [text, setText] = useState('')
  const settled = useSettled(text.trim())
  const found = useQuery({
    queryKey: [...about, 'choices', settled],
    queryFn: async ({ signal }) => load(settled, signal),
    placeholderData: (before, previous) => (isOfScope(previous, String(about[1])) ? before : undefined),
  })
  const free = text.trim() === '' ? undefined : freeText?.(text.trim())
  const choices = found.data ?? []
  const isKnown = free !== undefined && choices.some(({ value }) => value === free.value)
  return (
    <Command label={label} shouldFilter={false} loop>
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder={placeholder ?? 'Search…'}
        className="h-9 w-full border-b border-line bg-transparent px-3 outline-none"
      />
      <Command.List aria-label={label} className="max-h-64 overflow-y-auto p-1">
        <Command.Empty className="px-2 py-4 text-center text-dim">
          {found.isPending ? 'Searching…' : found.error ? 'The search failed: try again.' : 'Nothing has this name.'}
        </Command.Empty>
        {choices.map((choice) => (
          <Item key={choice.value} choice={choice} onChoose={onChoose} />
        ))}
        {free && !isKnown && <Item choice={free} onChoose={onChoose} />}
      </Command.List>
    </Command>
  )
}

function Item({ choice, onChoose }: { choice: Choice; onChoose: (choice: Choice) => void }) {
  return (
    <Command.Item
      value={choice.value}
      onSelect={() => onChoose(choice)}
      className="cursor-pointer rounded px-2 py-1.5 aria-selected:bg-hover"
    >
      <span className="block">{choice.text}</span>
      {choice.about !== undefined && <span className="block text-dim">{choice.about}</span>}
    </Command.Item>
  )
}
