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

/** What `terraform plan` has printed, with and without `-json`, for the same configuration. */
function logOf(file: string) {
  const text = createLogText()
  text.append(PRINTED[file] ?? '')
  text.end()
  return text
}

/** The boxes of a log, sorted: the engine prints what it finds at the same time in any order. */
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
  test('are drawn from JSON as the engine draws them', () => {
    expect(boxes(`${name}.jsonl`)).toEqual(boxes(`${name}.txt`))
  })

  test('are read from the boxes as they stand in JSON', () => {
    const said = diagnosticsOf(`${name}.jsonl`)

    const read = diagnosticsOf(`${name}.txt`)

    expect(read.map(comparable)).toEqual(said.map(comparable))
  })
})

test('diagnostics without colours, and so without boxes, are read too', () => {
  const said = diagnosticsOf('invalid-calls.jsonl')

  const read = diagnosticsOf('invalid-calls-plain.txt')

  // Without colours nothing is underlined.
  const unmarked = (diagnostic: ReturnType<typeof comparable>) => ({ ...diagnostic, highlighted: undefined })
  expect(read.map(comparable).map(unmarked)).toEqual(said.map(comparable).map(unmarked))
})

/** The engine wraps details in text, and gives only the names of a call's parameters. */
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

test('an error without a place is read', () => {
  const text = createLogText()
  text.append(
    '╷\n│ Error: Failed to query available provider packages\n│ \n│ Could not retrieve the list of versions\n╵\n',
  )

  expect(text.diagnostics()).toMatchObject([
    { severity: 'error', summary: 'Failed to query available provider packages', line: 0 },
  ])
  expect(text.diagnostics()[0]?.detail).toBe('Could not retrieve the list of versions')
})
