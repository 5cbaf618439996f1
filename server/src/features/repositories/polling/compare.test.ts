import { expect, test } from 'vitest'
import type { PullRequest } from '../../../vcs-hosts/host.ts'
import { type PolledRefs, changesBetween, polledRefs } from './compare.ts'

const AUTHOR = { username: 'mona', avatarUrl: '', pageUrl: '' }

function pull(number: number, sha: string, base = 'main'): PullRequest {
  return {
    number,
    title: 'Add a subnet',
    body: 'Long',
    url: '',
    head: { sha, message: '', url: '', branch: 'add-subnet' },
    base: { branch: base, sha: null },
    isFork: false,
    headRef: null,
    mergeSha: null,
    author: AUTHOR,
  }
}

const found = (refs: Partial<PolledRefs>): PolledRefs => ({ branches: {}, tags: {}, pullRequests: {}, ...refs })

function summary(before: Partial<PolledRefs>, now: Partial<PolledRefs>) {
  return changesBetween(found(before), found(now)).events.map((event) => {
    if (event.kind === 'pull-request') return `${event.action} #${event.pullRequest.number}`
    if (event.kind === 'tag') return `tag ${event.tag}: ${event.commit?.sha ?? 'deleted'}`
    return `push to ${event.branch}: ${event.before ?? 'new'} → ${event.commit?.sha ?? 'deleted'}`
  })
}

test.each<[string, Partial<PolledRefs>, Partial<PolledRefs>, string[]]>([
  ['nothing', { branches: { main: 'a' } }, { branches: { main: 'a' } }, []],
  ['a push', { branches: { main: 'a' } }, { branches: { main: 'b' } }, ['push to main: a → b']],
  ['a new branch', {}, { branches: { main: 'a' } }, ['push to main: new → a']],
  ['a deleted branch', { branches: { main: 'a' } }, {}, ['push to main: a → deleted']],
  ['a new tag', {}, { tags: { v1: 'a' } }, ['tag v1: a']],
  ['a moved tag', { tags: { v1: 'a' } }, { tags: { v1: 'b' } }, ['tag v1: b']],
  ['a branch that is named like a property', {}, { branches: { constructor: 'a' } }, ['push to constructor: new → a']],
  ['a new pull request', {}, { pullRequests: { 7: pull(7, 'a') } }, ['opened #7']],
  ['new commits', { pullRequests: { 7: pull(7, 'a') } }, { pullRequests: { 7: pull(7, 'b') } }, ['updated #7']],
  ['another base', { pullRequests: { 7: pull(7, 'a') } }, { pullRequests: { 7: pull(7, 'a', 'x') } }, ['updated #7']],
  ['the same pull request', { pullRequests: { 7: pull(7, 'a') } }, { pullRequests: { 7: pull(7, 'a') } }, []],
])('%s', (_, before, now, expected) => {
  expect(summary(before, now)).toEqual(expected)
})

test('a pull request that is no longer open has gone, unless the host could not list them', () => {
  const before = found({ pullRequests: { 7: pull(7, 'a') } })
  const refs = { defaultBranch: 'main', branches: [], tags: [] }

  const { gone } = changesBetween(before, polledRefs(refs, [], before))
  const unknown = changesBetween(before, polledRefs(refs, undefined, before))

  expect(gone.map(({ number }) => number)).toEqual([7])
  expect(unknown).toEqual({ events: [], gone: [] })
})
