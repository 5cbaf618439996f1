import { type Look, lookAfter, PLAIN, plainText } from './ansi.ts'
import { applyEventOf, type ApplyEvent } from './apply-events.ts'
import { diagnosticOf } from './diagnostic-box.ts'
import type { Diagnostic } from './diagnostic.ts'
import { messageLines, messageOf } from './structured-line.ts'

/** A diagnostic, and the index of the line where it stands. */
export type LoggedDiagnostic = Diagnostic & { line: number }

/** A log as it is shown, line by line, and what can be read from it. It grows at its end. */
export type LogText = ReturnType<typeof createLogText>

export function createLogText() {
  const lines: string[] = []
  const looks: Look[] = []
  const plain: string[] = []
  const diagnostics: LoggedDiagnostic[] = []
  const events: ApplyEvent[] = []
  let look = PLAIN
  let rest = ''
  let heard = 0
  let box: { at: number; lines: string[]; isBare: boolean } | undefined
  let widest = 0

  function push(line: string) {
    lines.push(line)
    looks.push(look)
    const text = plainText(line)
    plain.push(text)
    if (text.length > widest) widest = text.length
    look = lookAfter(line, look)
  }

  function add(raw: string) {
    const message = messageOf(raw)
    if (message) {
      endBareBox()
      if (message.diagnostic) {
        // The engine leaves a line free before the first of several boxes.
        if (!['', '╵', undefined].includes(plain.at(-1))) push('')
        diagnostics.push({ ...message.diagnostic, line: lines.length })
      }
      const event = applyEventOf(message, heard)
      if (event) events.push(event)
      for (const line of messageLines(message)) push(line)
      return
    }
    // What a program has overwritten on its line is not shown.
    const line = raw.includes('\r') ? (raw.split('\r').findLast((part) => part !== '') ?? '') : raw
    readText(line)
    push(line)
  }

  function readText(line: string) {
    const text = plainText(line).trimEnd()
    if (box && !box.isBare) {
      if (text === '╵') endBox()
      else box.lines.push(line.replace(RULE, ''))
    } else if (text === '╷') {
      endBareBox()
      box = { at: lines.length, lines: [], isBare: false }
    } else if (BARE.test(text)) {
      endBareBox()
      box = { at: lines.length, lines: [line], isBare: true }
    } else if (box) box.lines.push(line)
    else {
      const event = applyEventOf(text, heard)
      if (event) events.push(event)
    }
  }

  function endBox() {
    const diagnostic = box && diagnosticOf(box.lines)
    if (box && diagnostic) diagnostics.push({ ...diagnostic, line: box.at })
    box = undefined
  }
  /** Without colours the engine draws no box: such a diagnostic ends where the next one begins, or with the log. */
  function endBareBox() {
    if (box?.isBare) endBox()
  }

  return {
    /** Adds what has been read next, at `heardAt` in ms; the last line may not be whole yet. */
    append(text: string, heardAt = 0) {
      heard = heardAt
      const parts = `${rest}${text}`.split('\n')
      rest = parts.pop() ?? ''
      for (const part of parts) add(part.endsWith('\r') ? part.slice(0, -1) : part)
    },
    /** Nothing more follows. */
    end() {
      if (plainText(rest) !== '') add(rest)
      rest = ''
      endBareBox()
    },
    /** The number of whole lines. */
    count: () => lines.length,
    line: (index: number) => ({ text: lines[index] ?? '', look: looks[index] ?? PLAIN, plain: plain[index] ?? '' }),
    plainLines: () => plain as readonly string[],
    diagnostics: () => diagnostics as readonly LoggedDiagnostic[],
    events: () => events as readonly ApplyEvent[],
    /** The characters of the longest line. */
    widest: () => widest,
  }
}

/** The rule at the left of a line in a box, with its escapes. */
// oxlint-disable-next-line no-control-regex -- escapes of terminals begin with a control character
const RULE = /^(?:\u001b\[[0-9;]*m)*│(?:\u001b\[[0-9;]*m)* ?/
const BARE = /^(?:Error|Warning): \S/
