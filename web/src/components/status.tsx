import type { LucideIcon } from 'lucide-react'
import { Ban, CircleAlert, CircleCheck, CircleDashed, CircleX, LoaderCircle, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

export const TONE_TEXT = {
  good: 'text-good',
  bad: 'text-bad',
  warn: 'text-warn',
  busy: 'text-busy',
  accent: 'text-accent',
  quiet: 'text-dim',
} as const
export type Tone = keyof typeof TONE_TEXT
export type StatusStyle = { tone: Tone; icon: LucideIcon }

const BACKGROUNDS = {
  good: 'bg-good-soft',
  bad: 'bg-bad-soft',
  warn: 'bg-warn-soft',
  busy: 'bg-busy-soft',
  accent: 'bg-accent-soft',
  quiet: 'bg-hover',
} as const satisfies Record<Tone, string>

/** Icons and tones of the results of operations. */
export const OUTCOME_STYLE = {
  waiting: { tone: 'quiet', icon: CircleDashed },
  running: { tone: 'busy', icon: LoaderCircle },
  done: { tone: 'good', icon: CircleCheck },
  warning: { tone: 'warn', icon: CircleAlert },
  failed: { tone: 'bad', icon: CircleX },
  stopped: { tone: 'quiet', icon: Ban },
  skipped: { tone: 'quiet', icon: CircleDashed },
} as const satisfies Record<string, StatusStyle>

/** `text` is an alternative to `children`. */
type BadgeProps = { tone?: Tone; icon?: LucideIcon | undefined; title?: string; text?: ReactNode; children?: ReactNode }

/** A label for a property or a status. Its icon conveys the status without colour. */
export function Badge({ tone = 'quiet', icon: Icon, title, text, children }: BadgeProps) {
  return (
    <span
      title={title}
      className={`inline-flex max-w-full items-center gap-1 rounded-md px-1.5 py-0.5 text-xs font-medium whitespace-nowrap ${TONE_TEXT[tone]} ${BACKGROUNDS[tone]}`}
    >
      {Icon && <Icon size={13} className="shrink-0" />}
      {text ?? children}
    </span>
  )
}

/** A tag, which is shortened: its key and its value may have 255 characters each. `children` come before it. */
export function TagBadge({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <span title={text} className="inline-flex max-w-48">
      <Badge>
        {children}
        <span className="truncate">{text}</span>
      </Badge>
    </span>
  )
}

type StatusTextProps = { tone: Tone; icon: LucideIcon; isBusy?: boolean; text?: ReactNode; children?: ReactNode }

export function StatusText({ tone, icon: Icon, isBusy = false, text, children }: StatusTextProps) {
  return (
    <span className={`inline-flex items-center gap-1.5 font-medium whitespace-nowrap ${TONE_TEXT[tone]}`}>
      <Icon size={15} className={`shrink-0 ${isBusy ? 'animate-spin [animation-duration:2s]' : ''}`} />
      {text ?? children}
    </span>
  )
}

/** "tainted", or "2 of 10 tainted" if only some instances are; renders nothing for 0. */
export function TaintedBadge({ tainted, count = 1 }: { tainted: number; count?: number }) {
  if (tainted === 0) return null
  const text =
    tainted === count ? 'tainted' : `${tainted.toLocaleString('en')} of ${count.toLocaleString('en')} tainted`
  return <Badge tone="warn" icon={TriangleAlert} title="The next apply replaces tainted instances" text={text} />
}
