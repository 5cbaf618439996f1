import { ChevronDown } from 'lucide-react'
import { lazy } from 'react'
import { Button, type ButtonProps } from './button.tsx'
import { LazyPopup, usePopup } from './overlay-hosts.tsx'

export type Choice = { value: string; text: string; about?: string | undefined }

export type PickerPopupProps = {
  label: string
  placeholder?: string
  /** Says whose answer is missing when a search takes long. */
  slowText?: string
  /** Type and scope of the options, for the query key. */
  about: readonly unknown[]
  load: (text: string, signal: AbortSignal) => Promise<readonly Choice[]> | readonly Choice[]
  /** Converts a text to an additional option, where free text is allowed. */
  freeText?: (text: string) => Choice | undefined
  onChoose: (choice: Choice) => void
}

const load = async () => import('./picker-popup.tsx')
const PickerPopup = lazy(load)

type PickerProps = PickerPopupProps & Pick<ButtonProps, 'icon' | 'size' | 'reason'>

export function Picker({ icon, size, reason, onChoose, ...search }: PickerProps) {
  const { trigger, popup, close } = usePopup(load)
  function choose(choice: Choice) {
    close()
    onChoose(choice)
  }
  return (
    <>
      <Button {...{ icon, size, reason }} aria-haspopup="dialog" {...trigger}>
        {search.label}
        <ChevronDown size={14} className="text-dim" />
      </Button>
      <LazyPopup isOpen={popup.open}>
        <PickerPopup {...popup} {...search} onChoose={choose} />
      </LazyPopup>
    </>
  )
}
