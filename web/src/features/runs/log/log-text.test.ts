import { expect, test } from 'vitest'
import { markedSpans, searchLines } from '../../../components/text-search.tsx'
import { spansOf } from './ansi.ts'
import { createLogText, errorInLog } from './log-text.ts'

function textOf(...parts: string[]) {
  const text = createLogText()
  for (const part of parts) text.append(part)
  text.end()
  return text
}

/** A line of the engine's JSON output. */
function message(type: string, fields: object, text = '') {
  return `${JSON.stringify({ '@level': 'info', '@message': text, '@timestamp': '2026-11-22T19:06:28.728326Z', type, ...fields })}\n`
}

test('colours continue on the next line until they are reset', () => {
  const text = textOf('\u001b[31mred\nstill red\u001b[0m plain\n')

  const [first, second] = [0, 1].map((index) => spansOf(text.line(index).text, text.line(index).style))

  expect(first).toEqual([{ text: 'red', className: 'text-bad' }])
  expect(second).toEqual([
    { text: 'still red', className: 'text-bad' },
    { text: ' plain', className: '' },
  ])
})

test('escape sequences without a style and control characters are removed', () => {
  const text = textOf('\u001b[2K\u001b[1Ga\u0007b\u001b]8;;https://example.com\u0007link\u001b]8;;\u0007\n')

  expect(text.line(0).plain).toBe('ablink')
  expect(spansOf(text.line(0).text, text.line(0).style).map((span) => span.text)).toEqual(['ab', 'link'])
})

test('RGB colours and those beyond the first 16 are ignored', () => {
  const spans = spansOf('\u001b[38;2;1;31;4mrgb\u001b[0m\u001b[38;5;1mred\u001b[0m\u001b[1;38;5;200mbold', {})

  expect(spans.map(({ className }) => className)).toEqual(['', 'text-bad', 'font-semibold'])
})

test('chunks are joined to lines, without text that was overwritten', () => {
  const text = textOf('10%\r50%\r100', '% done\r\nnext', ' line')

  expect(text.plainLines()).toEqual(['100% done', 'next line'])
})

test('JSON messages are rendered as on a terminal', () => {
  const resource = { addr: 'terraform_data.a', resource: 'terraform_data.a' }

  const text = textOf(
    message('version', {}, 'Terraform 1.11.4'),
    message('planned_change', { change: { resource, action: 'create' } }),
    message('planned_change', { change: { resource: { addr: 'x.y' }, action: 'replace' } }),
    message('change_summary', { changes: {} }, 'Plan: 2 to add, 0 to change, 1 to destroy.'),
    message('apply_start', { hook: { resource, action: 'create' } }, 'terraform_data.a: Creating...'),
    message('provision_progress', { hook: { resource, provisioner: 'local-exec', output: 'hello' } }),
    message('provision_complete', { hook: { resource, provisioner: 'local-exec' } }, 'not on a terminal'),
    message('apply_complete', { hook: { resource } }, 'terraform_data.a: Creation complete after 0s [id=1]'),
    message('change_summary', { changes: {} }, 'Apply complete! Resources: 2 added, 0 changed, 1 destroyed.'),
    message('outputs', {
      outputs: {
        list: { sensitive: false, type: ['list', 'string'], value: ['a'] },
        s: { sensitive: true, type: 'string' },
      },
    }),
    '{"not": "a message"}\n',
  )

  expect(text.plainLines()).toEqual([
    '  # terraform_data.a will be created',
    '  # x.y must be replaced',
    '',
    'Plan: 2 to add, 0 to change, 1 to destroy.',
    'terraform_data.a: Creating...',
    'terraform_data.a (local-exec): hello',
    'terraform_data.a: Creation complete after 0s [id=1]',
    '',
    'Apply complete! Resources: 2 added, 0 changed, 1 destroyed.',
    '',
    'Outputs:',
    '',
    'list = tolist([',
    '  "a",',
    '])',
    's    = <sensitive>',
    '{"not": "a message"}',
  ])
})

test.each([
  {
    form: 'JSON',
    lines: [
      message('apply_start', { hook: { resource: { addr: 'a.b' }, action: 'create' } }, 'a.b: Creating...'),
      message('apply_progress', { hook: { resource: { addr: 'a.b' }, action: 'create', elapsed_seconds: 10 } }),
      message('apply_complete', { hook: { resource: { addr: 'a.b' }, action: 'create', elapsed_seconds: 12 } }),
    ],
  },
  {
    form: 'text',
    lines: [
      '\u001b[0m\u001b[1ma.b: Creating...\u001b[0m\u001b[0m\n',
      '\u001b[0m\u001b[1ma.b: Still creating... [10s elapsed]\u001b[0m\u001b[0m\n',
      '\u001b[0m\u001b[1ma.b: Creation complete after 12s [id=1]\u001b[0m\n',
    ],
  },
])('apply events are parsed from $form', ({ lines }) => {
  const events = textOf(...lines).events()

  expect(events).toMatchObject([
    { address: 'a.b', kind: 'started', action: 'create' },
    { address: 'a.b', kind: 'progress', action: 'create', seconds: 10 },
    { address: 'a.b', kind: 'done', action: 'create', seconds: 12 },
  ])
})

test('events of deposed objects and unusual instance keys have the address of the resource', () => {
  const events = textOf(
    'a.b (deposed object 1a2b3c4d): Destroying... [id=1]\n',
    'module.m["x: y"].a.b: Modifications complete after 1m2s\n',
  ).events()

  expect(events).toMatchObject([
    { address: 'a.b', kind: 'started', action: 'destroy' },
    { address: 'module.m["x: y"].a.b', kind: 'done', action: 'update', seconds: 62 },
  ])
})

test('a search counts the matches and marks them across colours', () => {
  const found = searchLines(['a needle, a Needle', 'none', 'needle'], 'needle')
  const spans = markedSpans(
    [
      { text: 'a nee', className: 'x' },
      { text: 'dle!', className: '' },
    ],
    'needle',
  )

  expect(found).toEqual({ lines: [0, 2], count: 3 })
  expect(spans.filter(({ isMarked }) => isMarked).map(({ text }) => text)).toEqual(['nee', 'dle'])
  expect(spans.map(({ text }) => text).join('')).toBe('a needle!')
})

test('the first error of structured output is shown with its location', () => {
  const log = [
    '{"@level":"info","@message":"an \\"error\\" is no level","type":"log"}',
    '{"@level":"error","@message":"Error: Invalid index","diagnostic":{"severity":"error","summary":"Invalid index","range":{"filename":"main.tf","start":{"line":12}}}}',
    '{"@level":"error","@message":"Error: Another one"}',
  ]

  expect(errorInLog(log.join('\n'))).toBe('Invalid index (main.tf line 12)')
})

test('the first error of a text log is shown without its frame and colours, with its location', () => {
  const log =
    'Planning…\n\u001B[31m╷\n\u001B[31m│\u001B[0m \u001B[1m\u001B[31mError: \u001B[0m\u001B[1mUnsupported argument\u001B[0m\n'
  const place =
    '\u001B[31m│\u001B[0m\n\u001B[31m│\u001B[0m \u001B[0m  on main.tf line 2, in resource "terraform_data" "a":\n'

  expect(errorInLog(log)).toBe('Unsupported argument')
  expect(errorInLog(log + place)).toBe('Unsupported argument (main.tf line 2)')
})

test('a log without an error, or with a truncated line, has no error', () => {
  expect(errorInLog('')).toBeNull()
  expect(errorInLog('{"@level":"error","@mess')).toBeNull()
})
