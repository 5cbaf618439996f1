import { describe, expect, test } from 'vitest'
import type { HostEvent, PullRequestEvent } from '../../../vcs-hosts/host.ts'
import { type EventContext, type WorkspaceRule, decide } from './decide.ts'

const RULE: WorkspaceRule = {
  branch: 'main',
  tagsRegex: null,
  fileTriggersEnabled: true,
  triggerPrefixes: [],
  triggerPatterns: [],
  workingDirectory: '',
  queueAllRuns: false,
  speculativeEnabled: true,
  hasRuns: true,
  isLocal: false,
  isInScope: true,
}
const sender = { username: 'ada', avatarUrl: '', pageUrl: '' }
const commit = { sha: 'a'.repeat(40), message: 'Add a subnet', url: '' }

function push(branch = 'main'): HostEvent {
  return { kind: 'push', branch, before: null, commit, compareUrl: '', sender, changedFiles: null }
}

function tag(name: string): HostEvent {
  return { kind: 'tag', tag: name, commit, sender }
}

function pullRequest(action: PullRequestEvent['action'], changes: Partial<PullRequestEvent['pullRequest']> = {}) {
  const request = {
    number: 7,
    title: 'Subnets',
    body: '',
    url: '',
    head: { ...commit, branch: 'subnets' },
    base: { branch: 'main', sha: 'b'.repeat(40) },
    isFork: false,
    headRef: 'refs/pull/7/head',
    mergeSha: null,
    author: sender,
    ...changes,
  }
  return { kind: 'pull-request' as const, action, pullRequest: request, sender }
}

function decisionOf(rule: Partial<WorkspaceRule>, event: HostEvent, rest: Partial<EventContext> = {}) {
  const context = { event, changedFiles: null, plansForks: false, conflicts: null, ...rest }
  const { decision, reason } = decide({ ...RULE, ...rule }, context)
  return `${decision}: ${reason}`
}

describe('a push', () => {
  test.each<[string, Partial<WorkspaceRule>, HostEvent, string]>([
    ['to its branch', {}, push(), 'run: pushed'],
    ['to another branch', {}, push('topic'), 'skip: other-branch'],
    ['that deletes its branch', {}, { ...push(), commit: null } as HostEvent, 'skip: branch-deleted'],
    ['when it follows tags', { tagsRegex: '^v' }, push(), 'skip: tags-only'],
    ['before the first run', { hasRuns: false }, push(), 'skip: no-first-run'],
    ['before the first run with queue-all-runs', { hasRuns: false, queueAllRuns: true }, push(), 'run: pushed'],
    ['with local execution', { isLocal: true }, push(), 'skip: local-execution'],
    ['through a connection for other projects', { isInScope: false }, push(), 'skip: not-in-scope'],
  ])('%s', (_, rule, event, expected) => {
    expect(decisionOf(rule, event)).toBe(expected)
  })
})

describe('a tag', () => {
  test.each<[string, string | null, string, string]>([
    ['that matches', String.raw`^v\d+\.\d+\.\d+$`, 'v1.2.3', 'run: tagged'],
    ['that matches in the middle', String.raw`\d+\.\d+`, 'release-1.2-rc', 'run: tagged'],
    ['that does not match', String.raw`^v\d+$`, 'w1', 'skip: other-tag'],
    ['when it follows a branch', null, 'v1', 'skip: no-tags'],
  ])('%s', (_, tagsRegex, name, expected) => {
    expect(decisionOf({ tagsRegex }, tag(name), { changedFiles: [] })).toBe(expected)
  })

  test('is matched in linear time', () => {
    expect(decisionOf({ tagsRegex: '^(a+)+$' }, tag(`${'a'.repeat(20_000)}!`))).toBe('skip: other-tag')
  })
})

describe('a pull request', () => {
  test.each<[string, Partial<WorkspaceRule>, HostEvent, string]>([
    ['that is opened', {}, pullRequest('opened'), 'plan: pull-request'],
    ['with new commits', {}, pullRequest('updated'), 'plan: pull-request'],
    ['that is merged', {}, pullRequest('merged'), 'skip: pull-request-closed'],
    ['for another branch', { branch: 'stable' }, pullRequest('opened'), 'skip: other-base'],
    ['from a fork', {}, pullRequest('opened', { isFork: true }), 'skip: from-fork'],
    ['without speculative plans', { speculativeEnabled: false }, pullRequest('opened'), 'skip: no-speculative-plans'],
    ['when it follows tags', { tagsRegex: 'v' }, pullRequest('opened'), 'skip: tags-only'],
  ])('%s', (_, rule, event, expected) => {
    expect(decisionOf(rule, event)).toBe(expected)
  })

  test('from a fork is planned where the connection allows it', () => {
    expect(decisionOf({}, pullRequest('opened', { isFork: true }), { plansForks: true })).toBe('plan: pull-request')
  })
})

describe('changed files', () => {
  const many = Array.from({ length: 300 }, (_, index) => `docs/${index}.md`)

  test.each<[string, Partial<WorkspaceRule>, readonly string[] | null, string]>([
    ['anywhere, without a directory', {}, ['docs/a.md'], 'pushed'],
    ['in the working directory', { workingDirectory: '/network' }, ['network/a.tf'], 'pushed'],
    ['outside of it', { workingDirectory: 'network' }, ['networks/a.tf'], 'no-matching-files'],
    ['below a prefix', { workingDirectory: 'a', triggerPrefixes: ['/modules/'] }, ['modules/b/c.tf'], 'pushed'],
    ['in the directory next to a prefix', { workingDirectory: 'a', triggerPrefixes: ['b'] }, ['a/x.tf'], 'pushed'],
    ['outside of the prefixes of a root', { triggerPrefixes: ['modules'] }, ['main.tf'], 'no-matching-files'],
    ['that match a pattern', { triggerPatterns: ['/**/network/*.tf'] }, ['a/b/network/x.tf'], 'pushed'],
    [
      'that match none, in the directory',
      { workingDirectory: 'a', triggerPatterns: ['/b/*'] },
      ['a/x'],
      'no-matching-files',
    ],
    ['that match no pattern of two', { triggerPatterns: ['b/**', '*.tf'] }, ['a/x.tf'], 'no-matching-files'],
    ['with a dot', { triggerPatterns: ['/a/**/*'] }, ['a/.config/x'], 'pushed'],
    ['without file triggers', { fileTriggersEnabled: false, workingDirectory: 'a' }, ['b/x'], 'pushed'],
    ['that are unknown', { workingDirectory: 'a' }, null, 'pushed'],
    ['that are none', { workingDirectory: 'a' }, [], 'no-matching-files'],
    ['that are none, in a workspace for the whole repository', {}, [], 'pushed'],
    ['that are 300 or more', { workingDirectory: 'a' }, many, 'pushed'],
    ['that are 299', { workingDirectory: 'a' }, many.slice(1), 'no-matching-files'],
  ])('%s', (_, rule, changedFiles, reason) => {
    expect(decisionOf(rule, push(), { changedFiles })).toMatch(new RegExp(`: ${reason}$`))
  })
})
