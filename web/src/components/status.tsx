import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

const TONES = {
  good: 'text-good bg-good-soft',
  bad: 'text-bad bg-bad-soft',
  warn: 'text-warn bg-warn-soft',
  busy: 'text-busy bg-busy-soft',
  accent: 'text-accent bg-accent-soft',
  quiet: 'text-dim bg-hover',
} as const
export type Tone = keyof typeof TONES

/** The text colour of a tone. */
export const TONE_TEXT = {
  good: 'text-good',
  bad: 'text-bad',
  warn: 'text-warn',
  busy: 'text-busy',
  accent: 'text-accent',
  quiet: 'text-dim',
} as const satisfies Record<Tone, string>

/** A word about the state of a thing. Its icon differs too, for those who see no colours. */
export function Badge({
  tone = 'quiet',
  icon: Icon,
  title,
  children,
}: {
  tone?: Tone
  icon?: LucideIcon | undefined
  title?: string
  children: ReactNode
}) {
  return (
    <span
      title={title}
      className={`inline-flex items-center gap-1 rounded-md px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${TONES[tone]}`}
    >
      {Icon && <Icon size={13} aria-hidden="true" className="shrink-0" />}
      {children}
    </span>
  )
}

/** A state in a dense table: an icon in its colour and a word. */
export function StatusText({
  tone,
  icon: Icon,
  isBusy = false,
  children,
}: {
  tone: Tone
  icon: LucideIcon
  isBusy?: boolean
  children: ReactNode
}) {
  return (
    <span className={`inline-flex items-center gap-1.5 font-medium whitespace-nowrap ${TONE_TEXT[tone]}`}>
      <Icon
        size={15}
        aria-hidden="true"
        className={`shrink-0 ${isBusy ? 'animate-spin [animation-duration:2s]' : ''}`}
      />
      {children}
    </span>
  )
}
