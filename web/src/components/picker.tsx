import type { LucideIcon } from 'lucide-react'
import { ChevronDown } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { Button } from './button.tsx'

export type Choice = { value: string; text: string; about?: string | undefined }

export type PickerProps = {
  label: string
  icon?: LucideIcon
  /** Placeholder of the popup's field. */
  placeholder?: string
  /** Names what is searched, for the cache of queries: its kind, and its scope. */
  about: readonly unknown[]
  /** Finds the options whose name contains `text`; called on each change. */
  load: (text: string, signal: AbortSignal) => Promise<readonly Choice[]> | readonly Choice[]
  /** Value of a text that is no option, where free text is allowed. */
  freeText?: (text: string) => Choice | undefined
  onChoose: (choice: Choice) => void
  size?: 'small' | 'medium'
  reason?: string | undefined
}

const load = async () => import('./picker-popup.tsx')
const PickerPopup = lazy(load)

/** A button that opens a list with a search, to choose one of many: a filter, or what is added to a list. */
export function Picker({ label, icon, size = 'medium', reason, onChoose, ...popup }: PickerProps) {
  const [isOpen, setIsOpen] = useState(false)
  const [wasOpen, setWasOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      <Button
        ref={button}
        size={size}
        icon={icon}
        reason={reason}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onPointerEnter={() => void load()}
        onFocus={() => void load()}
        onClick={() => {
          setWasOpen(true)
          setIsOpen(!isOpen)
        }}
      >
        {label}
        <ChevronDown size={14} aria-hidden="true" className="text-dim" />
      </Button>
      {wasOpen && (
        <Suspense>
          <PickerPopup
            label={label}
            anchor={button}
            isOpen={isOpen}
            onOpenChange={setIsOpen}
            onChoose={(choice) => {
              setIsOpen(false)
              onChoose(choice)
            }}
            {...popup}
          />
        </Suspense>
      )}
    </>
  )
}
