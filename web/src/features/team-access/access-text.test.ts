import { expect, test } from 'vitest'
import {
  accessText,
  ownPermissionTexts,
  projectAccessText,
  type ProjectAccess,
  type TeamAccess,
} from './access-text.ts'

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

test('a level is described by a sentence', () => {
  expect(accessText({ ...CUSTOM, access: 'write' })).toBe(
    'Starts and approves runs, changes variables and states, locks.',
  )
})

test('custom access lists only granted permissions', () => {
  expect(accessText(CUSTOM)).toBe('Starts runs that others approve, sees outputs, locks and unlocks.')
})

test('a maintainer of a project has full access to its workspaces', () => {
  const access = { access: 'maintain' } as ProjectAccess

  expect(projectAccessText(access)).toBe('Full access, including settings, tasks, triggers and access.')
})

test('the user’s own permissions are listed', () => {
  const permissions = { 'can-read-run': true, 'can-queue-run': false, 'can-read-state-outputs': true }

  expect(ownPermissionTexts(permissions as Parameters<typeof ownPermissionTexts>[0])).toEqual([
    'see runs',
    'see outputs',
  ])
})
