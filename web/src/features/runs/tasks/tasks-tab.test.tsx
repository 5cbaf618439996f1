import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import type { TaskResult, TaskStage } from '../run.ts'
import { stageWith } from '../testing/run.ts'
import { OutcomeList, StageCard, type TaskOutcome } from './tasks-tab.tsx'

function stageHtml(
  status: TaskStage['attributes']['status'],
  results: readonly Partial<TaskResult['attributes']>[] = [{}],
) {
  return renderToStaticMarkup(
    <QueryClientProvider client={new QueryClient()}>
      <StageCard stage={stageWith({ status }, results)} mayRedeliver />
    </QueryClientProvider>,
  )
}

test('a stage shows the results of its tasks with links to details', () => {
  const shown = stageHtml('failed', [
    { status: 'failed', message: 'port 22 is <open>', url: 'https://audit.example/22' },
    { 'task-name': 'costs', 'workspace-task-enforcement-level': 'advisory', status: 'passed' },
  ])

  expect(shown).toContain('Pre-plan tasks')
  expect(shown.match(/<li/g)).toHaveLength(2)
  expect(shown).toContain('port 22 is &lt;open&gt;')
  expect(shown).toContain('href="https://audit.example/22" target="_blank" rel="noreferrer noopener"')
  expect(shown).toContain('Details<span class="sr-only"> of audit, in a new tab</span>')
  expect(shown).toMatch(/costs.*advisory.*passed/)
})

test.each(['', 'not an address', 'javascript:alert(1)', 'data:text/html,x', '/relative'])(
  'the URL %j of a run task is not linked',
  (url) => {
    expect(stageHtml('passed', [{ url }])).not.toContain('<a')
  },
)

test('an advisory failure is marked on the result and its stage', () => {
  const shown = stageHtml('passed', [{ status: 'failed', 'workspace-task-enforcement-level': 'advisory' }])

  expect(shown).toContain('failed, advisory')
  expect(shown).toContain('does not stop the run')
  expect(shown).toContain('1 advisory failure')
  expect(shown).not.toContain('passed')
})

test.each([
  ['passed', { none: 3, info: 2, warning: 0, error: 0 }, 'text-good', '>passed<'],
  ['passed', { none: 0, info: 0, warning: 1, error: 0 }, 'text-warn', 'passed with 1 warning'],
  ['passed', { none: 0, info: 0, warning: 1, error: 2 }, 'text-bad', 'passed with 2 errors, 1 warning'],
  ['failed', { none: 0, info: 0, warning: 0, error: 1 }, 'text-bad', 'failed with 1 error'],
] as const)('a task that %s with outcomes of %j is %s: %s', (status, levels, tone, text) => {
  const shown = stageHtml('passed', [{ status, 'outcome-levels': levels }])

  const result = shown.slice(shown.indexOf('audit'))
  expect(result).toContain(tone)
  expect(result).toContain(text)
  expect(shown.includes('text-good')).toBe(tone === 'text-good')
})

test('a stage that has not started, or was never reached, shows no results', () => {
  const pending = stageHtml('pending')
  const skipped = stageHtml('unreachable', [{ status: 'canceled' }])

  expect(pending).toContain('Not started yet')
  expect(skipped).toContain('Not started: the run ended before this stage.')
  expect(skipped).not.toContain('audit')
})

function outcomeHtml(attributes: Partial<TaskOutcome['attributes']>, total = 1) {
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

test('an outcome shows its description and links to its details', () => {
  const shown = outcomeHtml({ url: 'https://audit.example/22' }, 120)

  expect(shown).toContain('port 22 is &lt;open&gt;')
  expect(shown).toContain('Full text')
  expect(shown).toContain('href="https://audit.example/22" target="_blank" rel="noreferrer noopener"')
  expect(shown).toContain('Showing 1 of 120')
})

test('an outcome without a body has no full text', () => {
  expect(outcomeHtml({ 'has-body': false })).not.toContain('Full text')
})

test('a URL that is not HTTP or HTTPS is not linked', () => {
  expect(outcomeHtml({ url: 'javascript:alert(1)' })).not.toContain('javascript')
})

test.each(['severity', 'Severity', 'STATUS'])('the tags of the group %s come first and in bold', (label) => {
  const shown = outcomeHtml({
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
