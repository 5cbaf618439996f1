import { Popover } from '@base-ui/react/popover'
import { useQuery } from '@tanstack/react-query'
import { Command } from 'cmdk'
import { useEffect, useRef, useState } from 'react'
import { keepWithin } from '../api/queries.ts'
import { Button } from './button.tsx'
import { ErrorNote } from './feedback.tsx'
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
function Choices({ label, placeholder = 'Search…', slowText, about, load, freeText, onChoose }: PickerPopupProps) {
  const [text, setText] = useState('')
  const [active, setActive] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const settled = useSettled(text.trim())
  const { data, isPending, isPlaceholderData, error, refetch } = useQuery({
    queryKey: [...about, 'choices', settled],
    queryFn: async ({ signal }) => load(settled, signal),
    placeholderData: keepWithin(String(about[1])),
    // The user sees the reason, and decides whether to wait again.
    retry: false,
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
  function retry() {
    // The button disappears.
    input.current?.focus()
    void refetch()
  }
  return (
    <>
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
          ref={input}
          value={text}
          onValueChange={setText}
          placeholder={placeholder}
          className="h-9 w-full border-b border-line bg-transparent px-3 outline-none"
        />
        <Command.List aria-label={label} className="max-h-64 overflow-y-auto p-1">
          {data && !isPlaceholderData && (
            <Command.Empty className="px-2 py-4 text-center text-dim">No matches</Command.Empty>
          )}
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
      {(isPending || isPlaceholderData) && (
        <Searching text={isPending ? 'Searching…' : undefined} slowText={slowText} />
      )}
      {/* Outside of the list, which takes the key Enter. */}
      {error && (
        <div className="space-y-2 px-2 pb-2">
          <ErrorNote error={error} />
          <Button label="Try again" size="small" onClick={retry} />
        </div>
      )}
    </>
  )
}

const SLOW_MS = 4000

/** `slowText` after some seconds. */
function Searching({ text, slowText }: { text: string | undefined; slowText: string | undefined }) {
  const [isSlow, setIsSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsSlow(true), SLOW_MS)
    return () => clearTimeout(timer)
  }, [])
  const shown = (isSlow ? slowText : undefined) ?? text
  return (
    <p role="status" className="px-3 pb-3 text-center text-dim empty:hidden">
      {shown}
    </p>
  )
}
