import { plainText, PLAIN_STYLE, styleAfter, type TextStyle } from './ansi.ts'
import { type ApplyEvent, parseApplyEvent } from './apply-events.ts'
import { type Diagnostic, parseDiagnostic } from './diagnostic.ts'
import { messageLines, parseMessage } from './engine-messages.ts'

/** A diagnostic and the index of its first line. */
export type LoggedDiagnostic = Diagnostic & { line: number }

/** A growing log, rendered line by line, with the diagnostics and apply events parsed from it. */
export type LogText = ReturnType<typeof createLogText>

export function createLogText() {
  const lines: string[] = []
  const styles: TextStyle[] = []
  const plain: string[] = []
  const diagnostics: LoggedDiagnostic[] = []
  const events: ApplyEvent[] = []
  let style = PLAIN_STYLE
  let partialLine = ''
  let readAt = 0
  let box: { at: number; lines: string[]; isBare: boolean } | undefined
  let maxLength = 0

  function push(line: string) {
    const text = plainText(line)
    lines.push(line)
    styles.push(style)
    plain.push(text)
    maxLength = Math.max(maxLength, text.length)
    style = styleAfter(line, style)
  }

  function add(raw: string) {
    const message = parseMessage(raw)
    if (message) {
      endBareBox()
      if (message.diagnostic) {
        // The engine prints an empty line before the first of several boxes.
        if (!['', '╵', undefined].includes(plain.at(-1))) push('')
        diagnostics.push({ ...message.diagnostic, line: lines.length })
      }
      const event = parseApplyEvent(message, readAt)
      if (event) events.push(event)
      for (const line of messageLines(message)) push(line)
      return
    }
    // Shows only the last text of a line that a program overwrites.
    const line = raw.includes('\r') ? (raw.split('\r').findLast((part) => part !== '') ?? '') : raw
    parseText(line)
    push(line)
  }

  function parseText(line: string) {
    const text = plainText(line).trimEnd()
    if (box && !box.isBare) {
      if (text === '╵') endBox()
      else box.lines.push(line.replace(BORDER, ''))
    } else if (text === '╷') {
      endBareBox()
      box = { at: lines.length, lines: [], isBare: false }
    } else if (BARE_HEADING.test(text)) {
      endBareBox()
      box = { at: lines.length, lines: [line], isBare: true }
    } else if (box) box.lines.push(line)
    else {
      const event = parseApplyEvent(text, readAt)
      if (event) events.push(event)
    }
  }

  function endBox() {
    const diagnostic = box && parseDiagnostic(box.lines)
    if (box && diagnostic) diagnostics.push({ ...diagnostic, line: box.at })
    box = undefined
  }
  /** Without colours the engine draws no box: such a diagnostic extends to the next one, or to the end of the log. */
  function endBareBox() {
    if (box?.isBare) endBox()
  }

  return {
    /** Adds a chunk, read at `at` in ms. Its last line may be incomplete. */
    append(chunk: string, at = 0) {
      readAt = at
      const parts = `${partialLine}${chunk}`.split('\n')
      partialLine = parts.pop() ?? ''
      for (const part of parts) add(part.endsWith('\r') ? part.slice(0, -1) : part)
    },
    end() {
      if (plainText(partialLine) !== '') add(partialLine)
      partialLine = ''
      endBox()
    },
    count: () => lines.length,
    line: (index: number) => ({
      text: lines[index] ?? '',
      style: styles[index] ?? PLAIN_STYLE,
      plain: plain[index] ?? '',
    }),
    plainLines: () => plain as readonly string[],
    diagnostics: () => diagnostics as readonly LoggedDiagnostic[],
    events: () => events as readonly ApplyEvent[],
    /** The length of the longest line, in characters. */
    maxLength: () => maxLength,
  }
}

/** The first error in a log, if any, with its location: "Invalid index (main.tf line 12)". */
export function errorInLog(log: string): string | null {
  const text = createLogText()
  text.append(log)
  text.end()
  const error = text.diagnostics().find(({ severity }) => severity === 'error')
  if (!error) return null
  return error.range ? `${error.summary} (${error.range.filename} line ${error.range.start.line})` : error.summary
}

/** The left border of a line in a box, with its escape sequences. */
// oxlint-disable-next-line no-control-regex -- escape sequences begin with a control character
const BORDER = /^(?:\u001b\[[0-9;]*m)*│(?:\u001b\[[0-9;]*m)* ?/
const BARE_HEADING = /^(?:Error|Warning): \S/
