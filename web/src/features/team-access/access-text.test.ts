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

test('custom access to a project lists permissions on its workspaces and on the project', () => {
  const access: ProjectAccess = {
    access: 'custom',
    'project-access': { settings: 'update', teams: 'none', 'variable-sets': 'write' },
    'workspace-access': { ...CUSTOM, runs: 'read', create: true, move: false, locking: false, delete: false },
  }

  expect(projectAccessText(access)).toBe(
    'Sees runs, sees outputs, creates workspaces, changes settings, manages variable sets.',
  )
})

test('the user’s own permissions are listed', () => {
  const permissions = { 'can-read-run': true, 'can-queue-run': false, 'can-read-state-outputs': true }

  expect(ownPermissionTexts(permissions as Parameters<typeof ownPermissionTexts>[0])).toEqual([
    'see runs',
    'see outputs',
  ])
})
