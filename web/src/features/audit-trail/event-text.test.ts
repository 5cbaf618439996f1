import { expect, test } from 'vitest'
import page from '../../../../docs/AUDIT.md?raw'
import { ACTIONS, actionText, eventText } from './event-text.ts'

test('an event reads as a phrase', () => {
  const texts = [
    eventText({ action: 'add_projects', type: 'variable_set' }),
    eventText({ action: 'callback', type: 'task_result' }),
    eventText({ action: 'destroy', type: 'workspace' }),
    eventText({ action: 'sign_in', type: 'user' }),
    eventText({ action: 'new_action', type: 'new_type' }),
  ]

  expect(texts).toEqual([
    'Add projects to variable set',
    'Receive callback for task result',
    'Delete workspace',
    'Sign in',
    'New action new type',
  ])
  expect([actionText('force_execute'), actionText('create')]).toEqual(['Run next', 'Create'])
})

test('the filter offers all documented actions', () => {
  const [, table = ''] = /## Events by type\n([^]*?)\nNotes:/.exec(page) ?? []
  const cells = table.split('\n').flatMap((line) => line.split('|')[2] ?? [])
  const documented = cells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, action = '']) => action))

  expect(documented.length).toBeGreaterThan(ACTIONS.length)
  expect(documented.filter((action) => !ACTIONS.includes(action))).toEqual([])
  expect(ACTIONS.filter((action) => !documented.includes(action))).toEqual([])
})
