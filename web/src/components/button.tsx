import { LoaderCircle, type LucideIcon } from 'lucide-react'
import type { ComponentProps } from 'react'
import { Tooltip } from './overlay-hosts.tsx'

const KINDS = {
  primary: 'border-transparent bg-accent text-on-accent hover:brightness-110',
  plain: 'border-line bg-paper hover:bg-hover',
  /** Without a border, for tables and toolbars. */
  quiet: 'border-transparent hover:bg-hover',
  danger: 'border-bad/40 bg-paper text-bad hover:bg-bad-soft',
  /** Confirms a destructive action. */
  destroy: 'border-transparent bg-bad text-on-bad hover:brightness-110',
} as const
const SIZES = { small: 'h-7 px-2 gap-1', medium: 'h-8 px-3 gap-1.5', large: 'h-10 px-4 gap-2' } as const

export type ButtonKind = keyof typeof KINDS
type ButtonStyle = { kind?: ButtonKind | undefined; size?: keyof typeof SIZES | undefined }

/** The classes of a button, for links that look like one. */
export function buttonClass({ kind = 'plain', size = 'medium' }: ButtonStyle = {}) {
  return `inline-flex shrink-0 cursor-pointer items-center justify-center rounded-md border font-medium whitespace-nowrap no-underline aria-disabled:cursor-not-allowed aria-disabled:opacity-60 ${SIZES[size]} ${KINDS[kind]}`
}

export type ButtonProps = Omit<ComponentProps<'button'>, 'disabled'> &
  ButtonStyle & {
    icon?: LucideIcon | undefined
    /** The text; `children` if it contains elements. */
    label?: string
    /** Disables the button and gives the reason in a tooltip. */
    reason?: string | undefined
    isPending?: boolean
  }

/** A disabled button remains focusable, so that keyboard users keep their position. */
export function Button({ kind, size, icon: Icon, label, reason, isPending = false, ...props }: ButtonProps) {
  const isDisabled = reason !== undefined || isPending
  const button = (
    <button
      type="button"
      {...props}
      className={`${buttonClass({ kind, size })} ${props.className ?? ''}`}
      aria-disabled={isDisabled || undefined}
      aria-busy={isPending || undefined}
      onClick={(event) => (isDisabled ? event.preventDefault() : props.onClick?.(event))}
    >
      {isPending ? <LoaderCircle size={16} className="animate-spin" /> : Icon && <Icon size={16} />}
      {label ?? props.children}
    </button>
  )
  return reason === undefined ? button : <Tooltip text={reason}>{button}</Tooltip>
}

/** A button with an icon only; `label` is its accessible name and its tooltip. */
export function IconButton({ label, kind = 'quiet', ...props }: ButtonProps & { label: string; icon: LucideIcon }) {
  const button = <Button kind={kind} aria-label={label} className="px-1.5" {...props} />
  return props.reason === undefined ? <Tooltip text={label}>{button}</Tooltip> : button
}
