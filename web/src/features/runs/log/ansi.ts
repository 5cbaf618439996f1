/** A part of a line in one look; `className` is empty for ordinary text. */
export type Span = { text: string; className: string }

/** The look that escapes have set, as it goes on from line to line. */
export type Look = {
  readonly isBold?: boolean
  readonly isDim?: boolean
  readonly isItalic?: boolean
  readonly isUnderlined?: boolean
  /** 0 to 15, as terminals number their colours. */
  readonly colour?: number | undefined
  readonly ground?: number | undefined
}

export const PLAIN: Look = {}

// Black and white stand for ordinary text: which of them is readable depends on the theme.
const TEXT = [
  'text-ink',
  'text-bad',
  'text-good',
  'text-warn',
  'text-busy',
  'text-ansi-magenta',
  'text-ansi-cyan',
  'text-ink',
  'text-dim',
  'text-bad',
  'text-good',
  'text-warn',
  'text-busy',
  'text-ansi-magenta',
  'text-ansi-cyan',
  'text-ink',
] as const
const GROUND = ['', 'bg-bad-soft', 'bg-good-soft', 'bg-warn-soft', 'bg-busy-soft', 'bg-accent-soft', 'bg-busy-soft', '']

const ESCAPE =
  // oxlint-disable-next-line no-control-regex -- escapes of terminals begin with a control character
  /\u001b(?:\[([0-9;:]*)([ -/]*[@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]*[0-~])/g
// oxlint-disable-next-line no-control-regex -- what remains of control characters has no look; a tab has
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g

/** A line without escapes and control characters. */
export function plainText(line: string) {
  // Most lines have neither.
  const text = line.includes('\u001b') ? line.replace(ESCAPE, '') : line
  return text.replace(CONTROL, '')
}

/** The parts of a line that begins in `look`. */
export function spansOf(line: string, look: Look): Span[] {
  const spans: Span[] = []
  let at = 0
  let now = look
  const push = (text: string) => {
    const shown = text.replace(CONTROL, '')
    if (shown !== '') spans.push({ text: shown, className: classOf(now) })
  }
  for (const match of line.matchAll(ESCAPE)) {
    push(line.slice(at, match.index))
    now = changed(now, match)
    at = match.index + match[0].length
  }
  push(line.slice(at))
  return spans
}

/** The look after a line that begins in `look`. */
export function lookAfter(line: string, look: Look): Look {
  if (!line.includes('\u001b')) return look
  return [...line.matchAll(ESCAPE)].reduce(changed, look)
}

/** Only escapes that set the look count; all others, such as those that move the cursor, are dropped. */
function changed(look: Look, [, codes, final]: RegExpMatchArray): Look {
  if (final !== 'm') return look
  const numbers = (codes ?? '').split(/[;:]/).map(Number)
  let next = look
  for (let index = 0; index < numbers.length; index += 1) {
    const code = numbers[index] ?? 0
    if (code === 38 || code === 48) {
      const [kind, value = 0] = numbers.slice(index + 1)
      // Of the 256 colours the first 16 are the usual ones; others, and mixed ones, may be unreadable in one of the themes.
      const colour = kind === 5 && value < 16 ? value : undefined
      next = code === 38 ? { ...next, colour } : { ...next, ground: colour }
      index += kind === 5 ? 2 : 4
    } else next = set(next, code)
  }
  return next
}

function set(look: Look, code: number): Look {
  if (code === 0) return PLAIN
  if (code === 1) return { ...look, isBold: true }
  if (code === 2) return { ...look, isDim: true }
  if (code === 3) return { ...look, isItalic: true }
  if (code === 4) return { ...look, isUnderlined: true }
  if (code === 22) return { ...look, isBold: false, isDim: false }
  if (code === 23) return { ...look, isItalic: false }
  if (code === 24) return { ...look, isUnderlined: false }
  if (code >= 30 && code <= 37) return { ...look, colour: code - 30 }
  if (code === 39) return { ...look, colour: undefined }
  if (code >= 40 && code <= 47) return { ...look, ground: code - 40 }
  if (code === 49) return { ...look, ground: undefined }
  if (code >= 90 && code <= 97) return { ...look, colour: code - 82 }
  return look
}

function classOf({ isBold, isDim, isItalic, isUnderlined, colour, ground }: Look) {
  return [
    isBold && 'font-semibold',
    isDim && colour === undefined && 'text-dim',
    isItalic && 'italic',
    isUnderlined && 'underline',
    colour !== undefined && TEXT[colour],
    ground !== undefined && GROUND[ground % 8],
  ]
    .filter(Boolean)
    .join(' ')
}
