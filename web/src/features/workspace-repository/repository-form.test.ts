import { updateWorkspaceBody } from '@groundstate/contract/workspaces'
import { expect, test } from 'vitest'
import { NO_REPOSITORY, repositoryAttributes, repositoryProblem, repositoryValues } from './repository-form.ts'

const SAVED = {
  'vcs-repo': {
    identifier: 'acme/network',
    'display-identifier': 'acme/network',
    branch: 'main',
    'ingress-submodules': false,
    'oauth-token-id': 'ot-1',
    'repository-http-url': 'https://github.com/acme/network',
    'service-provider': 'github' as const,
    tags: false,
    'tags-regex': null,
    'webhook-url': null,
  },
  'working-directory': 'network',
  'file-triggers-enabled': true,
  'trigger-prefixes': ['modules'],
  'trigger-patterns': [],
  'speculative-enabled': true,
  'queue-all-runs': false,
  'auto-apply-reviewed': false,
}

/** The attributes that a change of the saved form sends, as the server parses them. */
function saved(
  changes: Partial<ReturnType<typeof repositoryValues>>,
  before: Parameters<typeof repositoryValues>[0] = SAVED,
) {
  const attributes = repositoryAttributes(changes, { ...repositoryValues(before), ...changes })
  return updateWorkspaceBody.parse({ data: { type: 'workspaces', attributes } }).data.attributes
}

test('the form has what is saved', () => {
  expect(repositoryValues(SAVED)).toMatchObject({ tokenId: 'ot-1', trigger: 'prefixes', prefixes: 'modules' })
  expect(repositoryValues({ ...SAVED, 'file-triggers-enabled': false }).trigger).toBe('always')
  expect(repositoryValues({ ...SAVED, 'trigger-prefixes': [], 'trigger-patterns': ['/a/*'] }).trigger).toBe('patterns')
  expect(repositoryValues({ ...SAVED, 'trigger-prefixes': [], 'working-directory': '' }).trigger).toBe('always')
  expect(repositoryValues({ ...SAVED, 'vcs-repo': { ...SAVED['vcs-repo'], 'tags-regex': '^v' } }).trigger).toBe('tags')
})

test('only what has changed is sent', () => {
  expect(saved({ queuesAllRuns: true })).toEqual({ 'queue-all-runs': true })
  expect(saved({ branch: ' stable ' })).toEqual({
    'vcs-repo': {
      'oauth-token-id': 'ot-1',
      identifier: 'acme/network',
      branch: 'stable',
      'ingress-submodules': false,
      'tags-regex': '',
    },
  })
})

test('settings that exclude each other are replaced together', () => {
  expect(saved({ trigger: 'tags', tagsRegex: '^v' })).toMatchObject({
    'vcs-repo': { 'tags-regex': '^v', branch: '' },
    'file-triggers-enabled': false,
    'trigger-prefixes': [],
    'trigger-patterns': [],
  })
  expect(saved({ trigger: 'patterns', patterns: '/a/*\n\n /b/**/*.tf ' })).toMatchObject({
    'vcs-repo': { 'tags-regex': '' },
    'file-triggers-enabled': true,
    'trigger-prefixes': [],
    'trigger-patterns': ['/a/*', '/b/**/*.tf'],
  })
  expect(saved({ trigger: 'always' })).toMatchObject({ 'file-triggers-enabled': false, 'trigger-prefixes': [] })
})

test('an incomplete form says what is missing', () => {
  const complete = { ...NO_REPOSITORY, tokenId: 'ot-1', identifier: 'acme/network' }

  expect(repositoryProblem(NO_REPOSITORY)).toBe('select a connection')
  expect(repositoryProblem({ ...complete, identifier: ' ' })).toBe('select a repository')
  expect(repositoryProblem({ ...complete, trigger: 'tags' })).toBe('enter the pattern of the tags')
  expect(repositoryProblem(complete)).toBeUndefined()
})
