import { expect, test } from 'vitest'
import { accessWords, ownWords, projectAccessWords, type ProjectAccess, type TeamAccess } from './access-words.ts'

const CUSTOM: TeamAccess = {
  access: 'custom',
  runs: 'plan',
  variables: 'none',
  'state-versions': 'read-outputs',
  'sentinel-mocks': 'none',
  'run-tasks': false,
  'policy-overrides': false,
  'workspace-locking': true,
}

test('a level is a sentence', () => {
  expect(accessWords({ ...CUSTOM, access: 'write' })).toBe(
    'Starts and approves runs, changes variables and states, locks.',
  )
})

test('custom access names what is granted, and nothing else', () => {
  expect(accessWords(CUSTOM)).toBe('Starts runs that others approve, sees outputs, locks and unlocks.')
})

test('who maintains a project has all of its workspaces', () => {
  const access = { access: 'maintain' } as ProjectAccess

  expect(projectAccessWords(access)).toBe('Everything: settings, tasks, triggers and access too.')
})

test('the own permissions are those that one has', () => {
  const permissions = { 'can-read-run': true, 'can-queue-run': false, 'can-read-state-outputs': true }

  expect(ownWords(permissions as Parameters<typeof ownWords>[0])).toEqual(['see runs', 'see outputs'])
})
