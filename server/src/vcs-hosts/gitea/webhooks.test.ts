import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ZodError } from 'zod'
import type { PullRequestEvent } from '../host.ts'
import { gitea } from './api.ts'
import {
  SHA,
  ZEROS,
  deletion,
  mona,
  monaSender,
  pullRequest,
  pullRequestEvent,
  push,
  repository,
} from './testing/bodies.ts'

const SECRET = 'It is a secret to everybody'
const VENDORS = ['gitea', 'forgejo'] as const
type Vendor = (typeof VENDORS)[number]

/** Forgejo sends each header twice. */
function delivery(event: string, content: unknown, vendor: Vendor = 'gitea') {
  const body = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content, null, 2))
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-github-event': event }
  for (const name of vendor === 'gitea' ? ['gitea'] : VENDORS) {
    headers[`x-${name}-delivery`] = 'f6266f16-1bf3-46a5-9ea4-602e06ead473'
    headers[`x-${name}-event`] = event
    headers[`x-${name}-event-type`] = event
    headers[`x-${name}-signature`] = signature
  }
  return { headers, body }
}
const parse = (event: string, body: unknown) => gitea.webhooks.parse(delivery(event, body))

describe.each(VENDORS)('a delivery of %s', (vendor) => {
  const request = delivery('push', push(), vendor)

  test('is signed with the secret', () => {
    const unsigned = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !name.endsWith('signature')))

    expect(gitea.webhooks.verify(request, SECRET)).toBe(true)
    expect(gitea.webhooks.verify(request, 'another secret')).toBe(false)
    expect(gitea.webhooks.verify({ ...request, body: Buffer.from('{}') }, SECRET)).toBe(false)
    for (const wrong of ['', 'zz', '00']) {
      const headers = { ...unsigned, [`x-${vendor}-signature`]: wrong }
      expect(gitea.webhooks.verify({ ...request, headers }, SECRET)).toBe(false)
    }
    expect(gitea.webhooks.verify({ ...request, headers: unsigned }, SECRET)).toBe(false)
  })

  test('has an id and an event', () => {
    expect(gitea.webhooks.deliveryId(request)).toBe('f6266f16-1bf3-46a5-9ea4-602e06ead473')
    expect(gitea.webhooks.parse(request).events?.[0]).toMatchObject({ kind: 'push' })
  })
})

describe('a push', () => {
  test('has the branch and the commit, but may have undone commits that it does not list', () => {
    expect(parse('push', push())).toEqual({
      identifier: 'acme/network',
      events: [
        {
          kind: 'push',
          branch: 'main',
          before: SHA.main,
          commit: {
            sha: SHA.pushed,
            message: 'Add a subnet for the database\n',
            url: `https://git.acme.example/acme/network/commit/${SHA.pushed}`,
          },
          compareUrl: `https://git.acme.example/acme/network/compare/${SHA.main}...${SHA.pushed}`,
          sender: monaSender,
          changedFiles: null,
        },
      ],
    })
  })

  test('to a new branch has no commit before it', () => {
    const body = push({ ref: 'refs/heads/feature/subnets', before: ZEROS })

    expect(parse('push', body).events?.[0]).toMatchObject({ branch: 'feature/subnets', before: null })
  })

  test('of a tag names its commit, not the object of the tag', () => {
    const body = push({ ref: 'refs/tags/v1.2.0', before: ZEROS, after: SHA.tagObject, commits: null, total_commits: 0 })

    expect(parse('push', body).events?.[0]).toMatchObject({ kind: 'tag', tag: 'v1.2.0', commit: { sha: SHA.pushed } })
  })

  test('that deletes a tag has no commit', () => {
    const body = push({ ref: 'refs/tags/v1.2.0', after: ZEROS, commits: null, head_commit: null, total_commits: 0 })

    expect(parse('push', body).events?.[0]).toMatchObject({ kind: 'tag', tag: 'v1.2.0', commit: null })
  })

  test('without its commit has the id of the commit', () => {
    expect(parse('push', push({ head_commit: null })).events?.[0]).toMatchObject({
      commit: { sha: SHA.pushed, message: '' },
    })
  })

  test('of other refs is ignored', () => {
    expect(parse('push', push({ ref: 'refs/for/main/topic' })).ignored).toBe(
      'refs/for/main/topic is neither a branch nor a tag',
    )
  })

  test('by a user of an old version has no page of the user', () => {
    const { html_url: _, ...sender } = mona

    expect(parse('push', push({ sender })).events?.[0]).toMatchObject({ sender: { username: 'mona', pageUrl: '' } })
  })
})

test('a deleted branch or tag has no commit', () => {
  expect(parse('delete', deletion('branch', 'feature/subnets')).events?.[0]).toMatchObject({
    kind: 'push',
    branch: 'feature/subnets',
    commit: null,
  })
  expect(parse('delete', deletion('tag', 'v1.2.0')).events?.[0]).toMatchObject({
    kind: 'tag',
    tag: 'v1.2.0',
    commit: null,
  })
})

describe('a pull request', () => {
  test('has head, base and author', () => {
    expect(parse('pull_request', pullRequestEvent('opened'))).toEqual({
      identifier: 'acme/network',
      events: [
        {
          kind: 'pull-request',
          action: 'opened',
          pullRequest: {
            number: 7,
            title: 'Add a subnet for the database',
            body: 'It is needed by the new cluster.',
            url: 'https://git.acme.example/acme/network/pulls/7',
            head: {
              sha: SHA.pushed,
              message: '',
              url: `https://git.acme.example/acme/network/pulls/7/commits/${SHA.pushed}`,
              branch: 'add-subnet',
            },
            base: { branch: 'main', sha: SHA.main },
            isFork: false,
            headRef: 'refs/pull/7/head',
            mergeSha: null,
            author: monaSender,
          },
          sender: monaSender,
        },
      ],
    })
  })

  const merged = pullRequest({ state: 'closed', merged: true, merge_commit_sha: SHA.merge })
  const toRelease = { ref: { from: 'release' } }
  test.each<
    [string, PullRequestEvent['action'], string, string, Record<string, unknown>?, ReturnType<typeof pullRequest>?]
  >([
    ['reopened', 'opened', 'pull_request', 'reopened'],
    ['given new commits', 'updated', 'pull_request', 'synchronized'],
    ['given new commits, by the kind of the event', 'updated', 'pull_request_sync', 'synchronized'],
    ['given another base', 'updated', 'pull_request', 'edited', toRelease],
    ['closed', 'closed', 'pull_request', 'closed'],
    ['merged', 'merged', 'pull_request', 'closed', undefined, merged],
  ])('%s is %s', (_, action, event, name, changes, pull) => {
    expect(parse(event, pullRequestEvent(name, pull, changes)).events?.[0]).toMatchObject({ action })
  })

  test('has the commit of the merge', () => {
    expect(parse('pull_request', pullRequestEvent('closed', merged)).events?.[0]).toMatchObject({
      pullRequest: { mergeSha: SHA.merge },
    })
  })

  const { head } = pullRequest()
  test.each([
    ['another repository', { head: { ...head, repo_id: 99, repo: repository('contributor/network', 99) } }],
    ['a repository that was deleted', { head: { ...head, ref: 'refs/pull/7/head', repo_id: -1, repo: null } }],
    ['refs/for/, open to all readers', { head: { ...head, label: '', ref: 'refs/pull/7/head' } }],
    ['refs/for/ by the flow', { flow: 1 }],
  ])('from %s counts as one from a fork', (_, changes) => {
    expect(parse('pull_request', pullRequestEvent('opened', pullRequest(changes))).events?.[0]).toMatchObject({
      pullRequest: { isFork: true, headRef: 'refs/pull/7/head' },
    })
  })

  test.each(['edited', 'label_updated', 'reviewed'])('that is %s is ignored', (action) => {
    const changes = action === 'edited' ? { title: { from: 'Add subnet' } } : undefined

    expect(parse('pull_request', pullRequestEvent(action, pullRequest(), changes)).ignored).toContain(action)
  })

  test('without a head is ignored', () => {
    const body = pullRequestEvent('closed', pullRequest({ head: { ...head, sha: '' } }))

    expect(parse('pull_request', body).ignored).toContain('does not exist')
  })
})

test('other events are ignored by name', () => {
  expect(
    parse('create', { ref: 'v1', ref_type: 'tag', sha: SHA.main, repository: repository(), sender: mona }),
  ).toEqual({
    identifier: 'acme/network',
    ignored: 'the event "create" starts no runs',
  })
})

test.each([
  ['not JSON', 'payload=%7B%7D', 'it is not JSON'],
  ['a list', '[]', 'expected object'],
  ['without a ref', JSON.stringify(push({ ref: undefined })), 'ref'],
  ['with an option in place of a commit', JSON.stringify(push({ after: '--upload-pack=x' })), 'commit id'],
])('a body that is %s is refused', (_, body, message) => {
  expect(() => parse('push', body)).toThrow(ZodError)
  expect(() => parse('push', body)).toThrow(message)
})
