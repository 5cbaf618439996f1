import { ChevronDown } from 'lucide-react'
import { lazy, useRef, useState } from 'react'
import { Button, type ButtonProps } from './button.tsx'
import { LazyPopup } from './overlay-hosts.tsx'

export type Choice = { value: string; text: string; about?: string | undefined }

export type PickerPopupProps = {
  label: string
  placeholder?: string
  /** Type and scope of the options, for the query key. */
  about: readonly unknown[]
  load: (text: string, signal: AbortSignal) => Promise<readonly Choice[]> | readonly Choice[]
  /** Converts a text to an additional option, where free text is allowed. */
  freeText?: (text: string) => Choice | undefined
  onChoose: (choice: Choice) => void
}

const load = async () => import('./picker-popup.tsx')
const PickerPopup = lazy(load)

export function Picker({
  icon,
  size,
  reason,
  ...popup
}: PickerPopupProps & Pick<ButtonProps, 'icon' | 'size' | 'reason'>) {
  const [isOpen, setIsOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  return (
    <>
      <Button
        ref={button}
        {...{ icon, size, reason }}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onPointerEnter={() => void load()}
        onFocus={() => void load()}
        onClick={() => setIsOpen(!isOpen)}
      >
        {popup.label}
        <ChevronDown size={14} className="text-dim" />
      </Button>
      <LazyPopup isOpen={isOpen}>
        <PickerPopup
          {...popup}
          anchor={button}
          isOpen={isOpen}
          onOpenChange={setIsOpen}
          onChoose={(choice) => {
            setIsOpen(false)
            popup.onChoose(choice)
          }}
        />
      </LazyPopup>
    </>
  )
}
