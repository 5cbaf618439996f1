import { plainText } from './ansi.ts'

/** A diagnostic in the format of the engine's JSON output (documented for `terraform validate -json`). */
export type Diagnostic = {
  severity: 'error' | 'warning' | 'unknown'
  summary: string
  detail?: string | undefined
  address?: string | undefined
  range?: { filename: string; start: { line: number }; end?: { line: number } } | undefined
  snippet?: Snippet | null | undefined
}

export type Snippet = {
  /** The enclosing block: `resource "aws_instance" "web"`. */
  context?: string | null | undefined
  code: string
  start_line: number
  /** Byte offsets in `code`. */
  highlight_start_offset: number
  highlight_end_offset: number
  values?: readonly { traversal: string; statement: string }[] | null | undefined
  function_call?: { called_as: string; signature?: Signature | null } | null | undefined
}
type Signature = { params?: readonly { name: string }[] | null; variadic_param?: { name: string } | null }

export function errorsFirst<D extends Diagnostic>(diagnostics: readonly D[]): D[] {
  const rank = ({ severity }: Diagnostic) => (severity === 'error' ? 0 : 1)
  return diagnostics.toSorted((one, other) => rank(one) - rank(other))
}

export function highlighted({ code, highlight_start_offset: start, highlight_end_offset: end }: Snippet) {
  const bytes = new TextEncoder().encode(code)
  const from = Math.min(Math.max(0, start), bytes.length)
  const to = Math.min(Math.max(from, end), bytes.length)
  const decode = (first: number, last: number) => new TextDecoder().decode(bytes.slice(first, last))
  return { before: decode(0, from), highlight: decode(from, to), after: decode(to, bytes.length) }
}

/** The function call that failed: `cidrsubnet` and `(prefix, newbits, netnum)`. */
export function functionCall({ function_call: call }: Snippet) {
  if (!call?.signature) return undefined
  const { params, variadic_param: variadic } = call.signature
  const names = [...(params ?? []).map(({ name }) => name), ...(variadic ? [`${variadic.name}...`] : [])]
  return { name: call.called_as, parameters: `(${names.join(', ')})` }
}

const HEADING = /^(Error|Warning): (.*)$/
const ADDRESS = /^ {2}with (.+),$/
const POSITION = /^ {2}on (.+?) line (\d+)(?:, in (.+))?:$/
const CODE = /^ *(\d+): ?(.*)$/
const CALL = /^while calling (.+?)(\(.*\))$/
const VALUE = /^(\S+(?:\[[^\]]*\])?\S*) (.+)$/

/** Parses the lines of a diagnostic box in text output, without its left border. */
export function parseDiagnostic(lines: readonly string[]): Diagnostic | undefined {
  const plain = lines.map((line) => plainText(line).trimEnd())
  const [, word, summary] = HEADING.exec(plain[0] ?? '') ?? []
  if (word === undefined || summary === undefined) return undefined
  let at = 1
  const skipBlank = () => {
    while (plain[at] === '') at += 1
  }
  skipBlank()
  const address = ADDRESS.exec(plain[at] ?? '')?.[1]
  if (address !== undefined) at += 1
  const position = POSITION.exec(plain[at] ?? '')
  const source = position && parseSource(lines, plain, at, position[3])
  at = source?.end ?? at
  skipBlank()
  return {
    severity: word === 'Error' ? 'error' : 'warning',
    summary,
    detail: plain.slice(at).join('\n').trimEnd(),
    address,
    range: position ? { filename: position[1] ?? '', start: { line: Number(position[2]) } } : undefined,
    snippet: source?.snippet,
  }
}

/** The snippet below the position line `from`, and the index of the line after it. */
function parseSource(lines: readonly string[], plain: readonly string[], from: number, context: string | undefined) {
  const code: string[] = []
  const values: { traversal: string; statement: string }[] = []
  let startLine: number | undefined
  let call: Snippet['function_call']
  let at = from + 1
  for (; at < plain.length && plain[at] !== ''; at += 1) {
    const line = plain[at] ?? ''
    const value = /^ {4}[│├] ?(.*)$/.exec(line)?.[1]
    if (value !== undefined) {
      const [, name, parameters] = CALL.exec(value) ?? []
      const [, traversal, statement] = VALUE.exec(value) ?? []
      if (name !== undefined)
        call = { called_as: name, signature: { params: [{ name: (parameters ?? '').slice(1, -1) }] } }
      else if (traversal !== undefined && statement !== undefined) values.push({ traversal, statement })
      continue
    }
    const number = CODE.exec(line)?.[1]
    if (number === undefined) continue
    startLine ??= Number(number)
    code.push(withMarks(lines[at] ?? '').replace(CODE, '$2'))
  }
  if (startLine === undefined) return { snippet: undefined, end: at }
  const marked = code.join('\n')
  const snippet: Snippet = {
    context,
    code: marked.replaceAll(MARKS, ''),
    start_line: startLine,
    values,
    function_call: call,
    ...highlightOffsets(marked),
  }
  return { snippet, end: at }
}

const BEGIN = '\ue000'
const END = '\ue001'
const MARKS = /[\ue000\ue001]/g

function withMarks(line: string) {
  // oxlint-disable-next-line no-control-regex -- the engine underlines the highlight
  return plainText(line.replace(/\u001b\[4m([^\u001b]*)\u001b\[0m/, `${BEGIN}$1${END}`)).trimEnd()
}

function highlightOffsets(marked: string) {
  const offset = (at: number) => new TextEncoder().encode(marked.slice(0, at).replaceAll(MARKS, '')).length
  const begin = marked.indexOf(BEGIN)
  const end = marked.lastIndexOf(END)
  return {
    highlight_start_offset: begin === -1 ? 0 : offset(begin),
    highlight_end_offset: begin === -1 || end === -1 ? 0 : offset(end),
  }
}

const RESET = '\u001b[0m'
const BOLD = '\u001b[1m'
const UNDERLINE = '\u001b[4m'
const GREY = '\u001b[90m'
const COLOURS = { error: '\u001b[31m', warning: '\u001b[33m', unknown: '' } as const
const LABELS = { error: 'Error: ', warning: 'Warning: ', unknown: '' } as const

/** Wrap column of the engine without a terminal, minus the left border. */
const WIDTH = 75

/** Renders a diagnostic as the engine does on a terminal, with escape sequences. */
export function diagnosticLines(diagnostic: Diagnostic): string[] {
  const { severity, summary, detail } = diagnostic
  const colour = COLOURS[severity]
  const lines = [
    `${BOLD}${colour}${LABELS[severity]}${RESET}${BOLD}${summary}${RESET}`,
    '',
    ...sourceLines(diagnostic),
    ...(detail ? detail.split('\n').flatMap((line) => (line.startsWith(' ') ? [line] : wrapped(line))) : []),
  ]
  const border = (sign: string) => `${colour}${sign}${RESET}`
  return [border('╷'), ...lines.map((line) => `${border('│')} ${line}`), border('╵')]
}

function sourceLines({ address, range, snippet }: Diagnostic) {
  const resource = address ? [`  with ${address},`] : []
  if (!range) return resource.length > 0 ? [...resource, ''] : []
  const position = `  on ${range.filename} line ${range.start.line}`
  if (!snippet) return [...resource, `${position}:`, '  (source code not available)', '']
  const context = snippet.context ? `, in ${snippet.context}` : ''
  return [...resource, `${position}${context}:`, ...codeLines(snippet), ...valueLines(snippet), '']
}

function codeLines(snippet: Snippet) {
  const { before, highlight, after } = highlighted(snippet)
  // The border resets the style, so every line of a multi-line highlight sets it again.
  const marked = highlight.split('\n').map((line) => (line === '' ? '' : `${UNDERLINE}${line}${RESET}`))
  const lines = `${before}${marked.join('\n')}${after}`.split('\n')
  return lines.map((line, index) => `${String(snippet.start_line + index).padStart(4)}: ${line}`)
}

function valueLines(snippet: Snippet) {
  const call = functionCall(snippet)
  const values = snippet.values ?? []
  if (values.length === 0 && !call) return []
  const bar = `    ${GREY}│${RESET} `
  return [
    `    ${GREY}├────────────────${RESET}`,
    ...(call ? [`${bar}while calling ${BOLD}${call.name}${RESET}${call.parameters}`] : []),
    ...values.map(({ traversal, statement }) => `${bar}${BOLD}${traversal}${RESET} ${statement}`),
  ]
}

function wrapped(line: string) {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ')) {
    if (current !== '' && current.length + 1 + word.length > WIDTH) {
      lines.push(current)
      current = word
    } else current = current === '' ? word : `${current} ${word}`
  }
  return [...lines, current]
}
