import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import type { TaskResultAttributes, TaskStage } from './runs.ts'
import { TaskStageStep } from './task-stage.tsx'

function html(status: TaskStage['status'], results: readonly Partial<TaskResultAttributes>[] = [{}]) {
  const resources = results.map((attributes, index) => ({
    id: `taskrs-${index}`,
    attributes: {
      status: 'running' as const,
      message: '',
      url: '',
      'task-name': 'audit',
      'workspace-task-enforcement-level': 'mandatory' as const,
      'task-result-outcomes-count': 0,
      'updated-at': '2030-01-31T12:00:00.000Z',
      ...attributes,
    },
  }))
  return renderToStaticMarkup(<TaskStageStep stage={{ name: 'pre_plan', status, results: resources }} />)
}

test('a stage shows what each of its tasks says, and where there is more', () => {
  const shown = html('failed', [
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
  'the address %j of a receiver is not linked',
  (url) => {
    expect(html('passed', [{ url }])).not.toContain('<a')
  },
)

test('a stage that has not begun is not shown', () => {
  expect(html('pending')).toBe('')
})

test('a stage that the run never came to says that its tasks were not asked', () => {
  const shown = html('unreachable', [{ status: 'canceled' }])

  expect(shown).toContain('The tasks were not asked.')
  expect(shown).not.toContain('audit')
})
