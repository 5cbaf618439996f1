import { plainText } from './ansi.ts'
import type { Diagnostic, Snippet } from './diagnostic.ts'

const HEADING = /^(Error|Warning): (.*)$/
const ADDRESS = /^ {2}with (.+),$/
const PLACE = /^ {2}on (.+?) line (\d+)(?:, in (.+))?:$/
const CODE = /^ *(\d+): ?(.*)$/
const CALL = /^while calling (.+?)(\(.*\))$/
const VALUE = /^(\S+(?:\[[^\]]*\])?\S*) (.+)$/

/** Reads a diagnostic from the lines that the engine prints in its box, without the rule at the left. */
export function diagnosticOf(lines: readonly string[]): Diagnostic | undefined {
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
  const place = PLACE.exec(plain[at] ?? '')
  const source = place && readSource(lines, plain, at, place[3])
  at = source?.end ?? at
  skipBlank()
  return {
    severity: word === 'Error' ? 'error' : 'warning',
    summary,
    detail: plain.slice(at).join('\n').trimEnd(),
    address,
    range: place ? { filename: place[1] ?? '', start: { line: Number(place[2]) } } : undefined,
    snippet: source?.snippet,
  }
}

/** The excerpt that follows the place at `from`, and the index of the line after it. */
function readSource(lines: readonly string[], plain: readonly string[], from: number, context: string | undefined) {
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
  const marked = code.join('\n')
  const snippet: Snippet | undefined =
    startLine === undefined
      ? undefined
      : {
          context,
          code: marked.replaceAll(MARKS, ''),
          start_line: startLine,
          values,
          function_call: call,
          ...offsets(marked),
        }
  return { snippet, end: at }
}

const BEGIN = '\ue000'
const END = '\ue001'
const MARKS = /[\ue000\ue001]/g

/** The line in plain text, with marks where the underlined part begins and ends. */
function withMarks(line: string) {
  // oxlint-disable-next-line no-control-regex -- the engine underlines what a diagnostic is about
  return plainText(line.replace(/\u001b\[4m([^\u001b]*)\u001b\[0m/, `${BEGIN}$1${END}`)).trimEnd()
}

function offsets(marked: string) {
  const bytes = (text: string) => new TextEncoder().encode(text.replaceAll(MARKS, '')).length
  const begin = marked.indexOf(BEGIN)
  const end = marked.lastIndexOf(END)
  return {
    highlight_start_offset: begin === -1 ? 0 : bytes(marked.slice(0, begin)),
    highlight_end_offset: begin === -1 || end === -1 ? 0 : bytes(marked.slice(0, end)),
  }
}
