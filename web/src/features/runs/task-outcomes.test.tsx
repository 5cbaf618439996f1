import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { OutcomeList } from './task-outcomes.tsx'
import type { TaskOutcome } from './tasks.ts'

function html(attributes: Partial<TaskOutcome['attributes']>, total = 1) {
  const outcome: TaskOutcome = {
    id: 'taskrso-1',
    attributes: {
      'outcome-id': 'A-1',
      description: 'port 22 is <open>',
      tags: [],
      url: null,
      'has-body': true,
      'created-at': '2030-01-31T12:00:00.000Z',
      ...attributes,
    },
    links: { self: '/api/v2/task-result-outcomes/taskrso-1', body: '/api/v2/task-result-outcomes/taskrso-1/body' },
  }
  return renderToStaticMarkup(
    <QueryClientProvider client={new QueryClient()}>
      <OutcomeList outcomes={[outcome]} total={total} />
    </QueryClientProvider>,
  )
}

const tag = (label: string, level: 'none' | 'info' | 'warning' | 'error') => ({ label, level })

test('an outcome shows its description and the way to its text', () => {
  const shown = html({ url: 'https://audit.example/22' }, 120)

  expect(shown).toContain('port 22 is &lt;open&gt;')
  expect(shown).toContain('Full text')
  expect(shown).toContain('href="https://audit.example/22" target="_blank" rel="noreferrer noopener"')
  expect(shown).toContain('The first 1 of 120.')
})

test('an outcome without a text offers none', () => {
  expect(html({ 'has-body': false })).not.toContain('Full text')
})

test('an address that is none of the web is not linked', () => {
  expect(html({ url: 'javascript:alert(1)' })).not.toContain('javascript')
})

test.each(['severity', 'Severity', 'STATUS'])('the tags of the group %s come first and stand out', (label) => {
  const shown = html({
    tags: [
      { label: 'team', value: [tag('network', 'none')] },
      { label, value: [tag('High', 'error')] },
    ],
  })

  expect(shown.indexOf('<strong>High</strong>')).toBeGreaterThan(0)
  expect(shown.indexOf('High')).toBeLessThan(shown.indexOf('network'))
  expect(shown).toContain('text-bad')
  expect(shown).toContain(`${label}:`)
})
