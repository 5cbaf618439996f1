import { describe, expect, test } from 'vitest'
import { createLogText } from './log-text.ts'
import invalidPlain from './testdata/invalid-calls-plain.txt?raw'
import invalidJson from './testdata/invalid-calls.jsonl?raw'
import invalidText from './testdata/invalid-calls.txt?raw'
import refusedJson from './testdata/refused-plan.jsonl?raw'
import refusedText from './testdata/refused-plan.txt?raw'

const PRINTED: Record<string, string> = {
  'invalid-calls.jsonl': invalidJson,
  'invalid-calls.txt': invalidText,
  'invalid-calls-plain.txt': invalidPlain,
  'refused-plan.jsonl': refusedJson,
  'refused-plan.txt': refusedText,
}

/** Output of `terraform plan` for one configuration, with and without `-json`. */
function logOf(file: string) {
  const text = createLogText()
  text.append(PRINTED[file] ?? '')
  text.end()
  return text
}

/** The boxes of a log, sorted, since the engine prints simultaneous diagnostics in any order. */
function boxes(file: string) {
  const lines = logOf(file).plainLines()
  const from = lines.findIndex((line) => line.startsWith('╷'))
  const drawn = lines.slice(from, lines.lastIndexOf('╵') + 1).map((line) => line.trimEnd())
  return drawn
    .join('\n')
    .split(/(?<=╵)\n/)
    .toSorted()
}

function diagnosticsOf(file: string) {
  return logOf(file)
    .diagnostics()
    .toSorted((one, other) => (one.summary < other.summary ? -1 : 1))
}

describe.each(['refused-plan', 'invalid-calls'])('the diagnostics of %s', (name) => {
  test('in JSON are rendered like those in text', () => {
    expect(boxes(`${name}.jsonl`)).toEqual(boxes(`${name}.txt`))
  })

  test('are parsed from text with the same fields as in JSON', () => {
    const json = diagnosticsOf(`${name}.jsonl`)

    const text = diagnosticsOf(`${name}.txt`)

    expect(text.map(comparable)).toEqual(json.map(comparable))
  })
})

test('diagnostics without colours, which have no boxes, are parsed', () => {
  const json = diagnosticsOf('invalid-calls.jsonl')

  const text = diagnosticsOf('invalid-calls-plain.txt')

  // Without colours there is no highlight.
  const unmarked = (diagnostic: ReturnType<typeof comparable>) => ({ ...diagnostic, highlighted: undefined })
  expect(text.map(comparable).map(unmarked)).toEqual(json.map(comparable).map(unmarked))
})

/** In text, details are wrapped and calls have only the names of their parameters. */
function comparable({ severity, summary, detail, address, range, snippet }: ReturnType<typeof ofAny>) {
  return {
    severity,
    summary,
    address,
    detail: detail?.replaceAll(/\s+/g, ' ').trim(),
    place: range && `${range.filename}:${range.start.line}`,
    code: snippet?.code,
    context: snippet?.context,
    values: snippet?.values,
    call: snippet?.function_call?.signature?.params?.map(({ name }) => name).join(', '),
    highlighted: snippet && [snippet.highlight_start_offset, snippet.highlight_end_offset],
  }
}
function ofAny() {
  const [first] = logOf('refused-plan.txt').diagnostics()
  if (!first) throw new Error('there is no diagnostic')
  return first
}

test('an error without a position is parsed', () => {
  const text = createLogText()
  text.append(
    '╷\n│ Error: Failed to query available provider packages\n│ \n│ Could not retrieve the list of versions\n╵\n',
  )

  expect(text.diagnostics()).toMatchObject([
    { severity: 'error', summary: 'Failed to query available provider packages', line: 0 },
  ])
  expect(text.diagnostics()[0]?.detail).toBe('Could not retrieve the list of versions')
})
