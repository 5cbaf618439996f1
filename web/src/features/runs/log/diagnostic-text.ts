import { calledAs, type Diagnostic, highlighted, type Snippet } from './diagnostic.ts'

const RESET = '\u001b[0m'
const BOLD = '\u001b[1m'
const UNDERLINE = '\u001b[4m'
const GREY = '\u001b[90m'
const COLOURS = { error: '\u001b[31m', warning: '\u001b[33m', unknown: '' } as const
const WORDS = { error: 'Error: ', warning: 'Warning: ', unknown: '' } as const

/** The width at which the engine wraps the detail where it knows no terminal, less the rule at the left. */
const WIDTH = 75

/** The lines in which the engine prints a diagnostic on a terminal, with their escapes. */
export function diagnosticLines(diagnostic: Diagnostic): string[] {
  const { severity, summary, detail } = diagnostic
  const colour = COLOURS[severity]
  const lines = [
    `${BOLD}${colour}${WORDS[severity]}${RESET}${BOLD}${summary}${RESET}`,
    '',
    ...sourceLines(diagnostic),
    ...(detail ? detail.split('\n').flatMap((line) => (line.startsWith(' ') ? [line] : wrapped(line))) : []),
  ]
  const rule = (sign: string) => `${colour}${sign}${RESET}`
  return [rule('╷'), ...lines.map((line) => `${rule('│')} ${line}`), rule('╵')]
}

function sourceLines({ address, range, snippet }: Diagnostic) {
  const of = address ? [`  with ${address},`] : []
  if (!range) return of.length > 0 ? [...of, ''] : []
  const place = `  on ${range.filename} line ${range.start.line}`
  if (!snippet) return [...of, `${place}:`, '  (source code not available)', '']
  const context = snippet.context ? `, in ${snippet.context}` : ''
  return [...of, `${place}${context}:`, ...codeLines(snippet), ...valueLines(snippet), '']
}

function codeLines(snippet: Snippet) {
  const { before, highlight, after } = highlighted(snippet)
  // The rule at the left ends the look, so each line of a longer highlight begins it again.
  const marked = highlight.split('\n').map((line) => (line === '' ? '' : `${UNDERLINE}${line}${RESET}`))
  const lines = `${before}${marked.join('\n')}${after}`.split('\n')
  return lines.map((line, index) => `${String(snippet.start_line + index).padStart(4)}: ${line}`)
}

function valueLines(snippet: Snippet) {
  const call = calledAs(snippet)
  const values = snippet.values ?? []
  if (values.length === 0 && !call) return []
  const bar = `    ${GREY}│${RESET} `
  return [
    `    ${GREY}├────────────────${RESET}`,
    ...(call ? [`${bar}while calling ${BOLD}${call.name}${RESET}${call.parameters}`] : []),
    ...values.map(({ traversal, statement }) => `${bar}${BOLD}${traversal}${RESET} ${statement}`),
  ]
}

/** Breaks a line at blanks; words that are longer stay whole. */
function wrapped(line: string) {
  const lines: string[] = []
  let now = ''
  for (const word of line.split(' ')) {
    if (now !== '' && now.length + 1 + word.length > WIDTH) {
      lines.push(now)
      now = word
    } else now = now === '' ? word : `${now} ${word}`
  }
  return [...lines, now]
}
