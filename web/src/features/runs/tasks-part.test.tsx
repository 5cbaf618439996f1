import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import type { TaskResult, TaskStage } from './run.ts'
import { StageCard } from './tasks-part.tsx'
import { stageWith } from './testing/run.ts'

function html(status: TaskStage['attributes']['status'], results: readonly Partial<TaskResult['attributes']>[] = [{}]) {
  return renderToStaticMarkup(
    <QueryClientProvider client={new QueryClient()}>
      <StageCard stage={stageWith({ status }, results)} mayRedeliver />
    </QueryClientProvider>,
  )
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

test('an advisory failure looks like one, and its stage has not simply passed', () => {
  const shown = html('passed', [{ status: 'failed', 'workspace-task-enforcement-level': 'advisory' }])

  expect(shown).toContain('failed, advisory')
  expect(shown).toContain('it does not stop the run')
  expect(shown).toContain('1 advisory failure')
  expect(shown).not.toContain('passed')
})

test('a stage that has not begun, and one that the run never came to, say that the tasks were not asked', () => {
  const ahead = html('pending')
  const missed = html('unreachable', [{ status: 'canceled' }])

  expect(ahead).toContain('The tasks are not asked yet.')
  expect(missed).toContain('The run did not come so far: the tasks were not asked.')
  expect(missed).not.toContain('audit')
})
