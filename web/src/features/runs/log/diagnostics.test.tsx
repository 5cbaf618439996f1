import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import type { RunDocument } from '../run.ts'
import { runWith } from '../testing/run.ts'
import { Diagnostics, RunDiagnostics } from './diagnostics.tsx'

test('a card has the position, the highlighted code, the values and the detail', () => {
  const html = renderToStaticMarkup(
    <Diagnostics
      diagnostics={[
        { severity: 'warning', summary: 'Deprecated' },
        {
          severity: 'error',
          summary: 'Invalid value',
          detail: 'Too <short>.',
          address: 'terraform_data.a',
          range: { filename: 'main.tf', start: { line: 12 } },
          snippet: {
            context: 'resource "terraform_data" "a"',
            code: '  ä = length(var.n)',
            start_line: 12,
            highlight_start_offset: 7,
            highlight_end_offset: 20,
            values: [{ traversal: 'var.n', statement: 'is "abc"' }],
          },
        },
      ]}
    />,
  )

  expect(html.indexOf('Invalid value')).toBeLessThan(html.indexOf('Deprecated'))
  expect(html).toContain('main.tf</code> line <span class="numeric">12</span>')
  expect(html).toMatch(/<mark[^>]*>length\(var\.n\)<\/mark>/)
  expect(html).toContain('is &quot;abc&quot;')
  expect(html).toContain('Too &lt;short&gt;.')
})

test('a long detail is collapsed to its first and last lines', () => {
  const detail = Array.from({ length: 3000 }, (_, line) => `line ${line + 1}`).join('\n')

  const html = renderToStaticMarkup(<Diagnostics diagnostics={[{ severity: 'error', summary: 'Failed', detail }]} />)

  expect(html).toMatch(/line 3<.*… 2,989 lines ….*line 2993\n/)
  expect(html).not.toContain('line 4\n')
  expect(html).toContain('Show all 3,000 lines')
})

test.each([
  ['canceled', 'Interrupted by ada'],
  ['errored', undefined],
] as const)('after a cancellation, the diagnostics of a run that is %s are folded: %s', (status, summary) => {
  const event = { attributes: { action: 'canceled' }, author: 'ada' }
  const document = { run: runWith({ status }), events: [event] } as unknown as RunDocument

  const html = renderToStaticMarkup(
    <RunDiagnostics
      document={document}
      diagnostics={[{ severity: 'error', summary: 'execution halted', phase: 'apply', line: 1 }]}
    />,
  )

  expect(html.startsWith('<details')).toBe(summary !== undefined)
  expect(html).toContain(summary ?? 'execution halted')
})
