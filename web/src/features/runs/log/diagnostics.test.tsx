import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { Diagnostics } from './diagnostics.tsx'

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
