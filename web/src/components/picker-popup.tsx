import { Popover } from '@base-ui/react/popover'
import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { useEffect, useRef, useState } from 'react'
import { keepWithin } from '../api/queries.ts'
import { useSettled } from './filters.tsx'
import type { PopupProps } from './overlay-hosts.tsx'
import type { PickerPopupProps } from './picker.tsx'

type Props = PickerPopupProps & PopupProps

export default function PickerPopup({ anchor, open, onOpenChange, ...search }: Props) {
  return (
    <Popover.Root open={open} onOpenChange={onOpenChange}>
      <Popover.Portal>
        <Popover.Positioner anchor={anchor} sideOffset={4} align="start" className="z-50">
          <Popover.Popup
            aria-label={search.label}
            finalFocus={anchor}
            className="w-72 max-w-[calc(100vw-2rem)] overflow-hidden rounded-lg border border-line bg-raised shadow-lg outline-none"
          >
            <Choices {...search} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** Does not filter, since `load` has done so. */
function Choices({ label, placeholder = 'Search…', about, load, freeText, onChoose }: PickerPopupProps) {
  const [text, setText] = useState('')
  const [active, setActive] = useState('')
  const settled = useSettled(text.trim())
  const { data, isPending, isPlaceholderData, error } = useQuery({
    queryKey: [...about, 'choices', settled],
    queryFn: async ({ signal }) => load(settled, signal),
    placeholderData: keepWithin(String(about[1])),
  })
  const free = text.trim() === '' ? undefined : freeText?.(text.trim())
  const found = data ?? []
  const choices = free && !found.some(({ value }) => value === free.value) ? [...found, free] : found
  // The choices arrive after the text that they match: without an active one, Enter would do nothing.
  const current = choices.some(({ value }) => value === active) ? active : (choices[0]?.value ?? '')
  const isOutdated = isPending || isPlaceholderData || text.trim() !== settled
  // Enter waits for the matches, instead of choosing one of an earlier text.
  const isEntered = useRef(false)
  useEffect(() => {
    if (!isEntered.current || isOutdated) return
    isEntered.current = false
    const choice = choices.find(({ value }) => value === current)
    if (choice) onChoose(choice)
  })
  return (
    <Command
      label={label}
      shouldFilter={false}
      loop
      value={current}
      onValueChange={setActive}
      onKeyDown={(event) => {
        isEntered.current = event.key === 'Enter' && isOutdated && !event.nativeEvent.isComposing
        if (isEntered.current) event.preventDefault()
      }}
    >
      <Command.Input
        value={text}
        onValueChange={setText}
        placeholder={placeholder}
        className="h-9 w-full border-b border-line bg-transparent px-3 outline-none"
      />
      <Command.List aria-label={label} className="max-h-64 overflow-y-auto p-1">
        <Command.Empty className="px-2 py-4 text-center text-dim">
          {isPending ? 'Searching…' : error ? 'Search failed. Try again.' : 'No matches'}
        </Command.Empty>
        {choices.map((choice) => (
          <Command.Item
            key={choice.value}
            value={choice.value}
            onSelect={() => onChoose(choice)}
            className="cursor-pointer rounded px-2 py-1.5 aria-selected:bg-hover"
          >
            <span className="block">{choice.text}</span>
            {choice.about !== undefined && <span className="block text-dim">{choice.about}</span>}
          </Command.Item>
        ))}
      </Command.List>
    </Command>
  )
}
