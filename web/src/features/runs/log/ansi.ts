import type { Span } from '../../../components/text-search.tsx'

/** Style set by escape sequences; it carries over to the next line. */
export type TextStyle = {
  readonly isBold?: boolean
  readonly isDim?: boolean
  readonly isItalic?: boolean
  readonly isUnderlined?: boolean
  /** Terminal colour, 0 to 15. */
  readonly colour?: number | undefined
  readonly background?: number | undefined
}

export const PLAIN_STYLE: TextStyle = {}

// Black and white are shown in the text colour of the theme.
const COLOUR_CLASSES = ['text-bad', 'text-good', 'text-warn', 'text-busy', 'text-ansi-magenta', 'text-ansi-cyan']
const TEXT_CLASSES = ['text-ink', ...COLOUR_CLASSES, 'text-ink', 'text-dim', ...COLOUR_CLASSES, 'text-ink']
const BACKGROUNDS = [
  '',
  'bg-bad-soft',
  'bg-good-soft',
  'bg-warn-soft',
  'bg-busy-soft',
  'bg-accent-soft',
  'bg-busy-soft',
  '',
]

const ESCAPE =
  // oxlint-disable-next-line no-control-regex -- escape sequences begin with a control character
  /\u001b(?:\[([0-9;:]*)([ -/]*[@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[PX^_][^\u001b]*\u001b\\|[ -/]*[0-~])/g
// oxlint-disable-next-line no-control-regex -- removes control characters except tabs
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g

export function plainText(line: string) {
  const text = line.includes('\u001b') ? line.replace(ESCAPE, '') : line
  return text.replace(CONTROL, '')
}

export function spansOf(line: string, style: TextStyle): Span[] {
  const spans: Span[] = []
  let at = 0
  let current = style
  const push = (text: string) => {
    const shown = text.replace(CONTROL, '')
    if (shown !== '') spans.push({ text: shown, className: classOf(current) })
  }
  for (const match of line.matchAll(ESCAPE)) {
    push(line.slice(at, match.index))
    current = applyEscape(current, match)
    at = match.index + match[0].length
  }
  push(line.slice(at))
  return spans
}

export function styleAfter(line: string, style: TextStyle): TextStyle {
  if (!line.includes('\u001b')) return style
  return [...line.matchAll(ESCAPE)].reduce(applyEscape, style)
}

/** Ignores all sequences that do not set a style, such as cursor movements. */
function applyEscape(style: TextStyle, [, codes, final]: RegExpMatchArray): TextStyle {
  if (final !== 'm') return style
  const numbers = (codes ?? '').split(/[;:]/).map(Number)
  let next = style
  for (let index = 0; index < numbers.length; index += 1) {
    const code = numbers[index] ?? 0
    if (code === 38 || code === 48) {
      const [kind, value = 0] = numbers.slice(index + 1)
      // Colours beyond the first 16, and RGB colours, may be unreadable in one of the themes.
      const colour = kind === 5 && value < 16 ? value : undefined
      next = code === 38 ? { ...next, colour } : { ...next, background: colour }
      index += kind === 5 ? 2 : 4
    } else next = set(next, code)
  }
  return next
}

const STYLE_CODES: Readonly<Record<number, TextStyle>> = {
  1: { isBold: true },
  2: { isDim: true },
  3: { isItalic: true },
  4: { isUnderlined: true },
  22: { isBold: false, isDim: false },
  23: { isItalic: false },
  24: { isUnderlined: false },
  39: { colour: undefined },
  49: { background: undefined },
}

function set(style: TextStyle, code: number): TextStyle {
  if (code === 0) return PLAIN_STYLE
  if (code >= 30 && code <= 37) return { ...style, colour: code - 30 }
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 }
  if (code >= 90 && code <= 97) return { ...style, colour: code - 82 }
  return { ...style, ...STYLE_CODES[code] }
}

function classOf({ isBold, isDim, isItalic, isUnderlined, colour, background }: TextStyle) {
  return [
    isBold && 'font-semibold',
    isDim && colour === undefined && 'text-dim',
    isItalic && 'italic',
    isUnderlined && 'underline',
    colour !== undefined && TEXT_CLASSES[colour],
    background !== undefined && BACKGROUNDS[background % 8],
  ]
    .filter(Boolean)
    .join(' ')
}
