import { LoaderCircle, type LucideIcon } from 'lucide-react'
import type { ButtonHTMLAttributes, MouseEvent, Ref } from 'react'
import { Tooltip } from './overlay-hosts.tsx'

const KINDS = {
  /** The one thing that the page is for. */
  primary: 'border-transparent bg-accent text-on-accent hover:brightness-110',
  plain: 'border-line bg-paper hover:bg-hover',
  /** In tables and bars, where borders would be noise. */
  quiet: 'border-transparent hover:bg-hover',
  danger: 'border-bad/40 bg-paper text-bad hover:bg-bad-soft',
  /** The last step of something that destroys. */
  destroy: 'border-transparent bg-bad text-on-bad hover:brightness-110',
} as const
const SIZES = { small: 'h-7 px-2 gap-1', medium: 'h-8 px-3 gap-1.5', large: 'h-10 px-4 gap-2' } as const

export type ButtonKind = keyof typeof KINDS
type ButtonSize = keyof typeof SIZES

/** The classes of a button, for links that look like one. */
export function buttonClass({ kind = 'plain', size = 'medium' }: { kind?: ButtonKind; size?: ButtonSize } = {}) {
  return `inline-flex shrink-0 cursor-pointer items-center justify-center rounded-md border font-medium whitespace-nowrap no-underline aria-disabled:cursor-not-allowed aria-disabled:opacity-60 ${SIZES[size]} ${KINDS[kind]}`
}

export type ButtonProps = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> & {
  kind?: ButtonKind
  size?: ButtonSize
  icon?: LucideIcon | undefined
  /** The action does not apply now: the button stays reachable, does nothing, and says why. */
  reason?: string | undefined
  /** The action is under way. */
  isPending?: boolean
  ref?: Ref<HTMLButtonElement>
}

/** A button keeps the focus while it is disabled, so that no one who works with keys is thrown to the top of the page. */
export function Button({
  kind,
  size,
  icon: Icon,
  reason,
  isPending = false,
  className = '',
  children,
  ...props
}: ButtonProps) {
  const isOff = reason !== undefined || isPending
  const button = (
    <button
      type="button"
      {...props}
      className={`${buttonClass({ ...(kind && { kind }), ...(size && { size }) })} ${className}`}
      aria-disabled={isOff || undefined}
      aria-busy={isPending || undefined}
      onClick={(event: MouseEvent<HTMLButtonElement>) => {
        if (isOff) return event.preventDefault()
        return props.onClick?.(event)
      }}
    >
      {isPending ? (
        <LoaderCircle size={16} className="animate-spin" aria-hidden="true" />
      ) : (
        Icon && <Icon size={16} aria-hidden="true" />
      )}
      {children}
    </button>
  )
  return reason === undefined ? button : <Tooltip text={reason}>{button}</Tooltip>
}

/** A button that is an icon; `label` is its name, and shown on hover. */
export function IconButton({
  label,
  icon,
  kind = 'quiet',
  ...props
}: Omit<ButtonProps, 'children' | 'icon'> & { label: string; icon: LucideIcon }) {
  const button = <Button kind={kind} icon={icon} aria-label={label} className="px-1.5" {...props} />
  return props.reason === undefined ? <Tooltip text={label}>{button}</Tooltip> : button
}
