import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ZodError } from 'zod'
import type { PullRequestEvent } from '../host.ts'
import { github } from './api.ts'
import {
  SHA,
  ZEROS,
  commit,
  deletion,
  monaSender,
  ping,
  pullRequest,
  pullRequestEvent,
  push,
  repository,
} from './testing/bodies.ts'

const SECRET = 'It is a secret to everybody'

function delivery(event: string, content: unknown) {
  const body = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'GitHub-Hookshot/044aadd',
    'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    'x-github-event': event,
    'x-github-hook-id': '109948940',
    'x-github-hook-installation-target-type': 'repository',
    'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
  }
  return { headers, body }
}
const parse = (event: string, body: unknown) => github.webhooks.parse(delivery(event, body))

describe('a signature', () => {
  test('of the documentation is valid', () => {
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
    const request = { headers: { 'x-hub-signature-256': signature }, body: Buffer.from('Hello, World!') }

    expect(github.webhooks.verify(request, "It's a Secret to Everybody")).toBe(true)
  })

  test('of this secret and body is valid, and no other', () => {
    const request = delivery('push', push())
    const signed = (signature: string | undefined) => ({ ...request, headers: { 'x-hub-signature-256': signature } })
    const { 'x-hub-signature-256': signature } = request.headers

    expect(github.webhooks.verify(request, SECRET)).toBe(true)
    expect(github.webhooks.verify(request, 'another secret')).toBe(false)
    expect(github.webhooks.verify({ ...request, body: Buffer.from('{}') }, SECRET)).toBe(false)
    for (const wrong of [undefined, '', 'sha256=', 'sha256=zz', signature.slice(7), signature.slice(0, -2)]) {
      expect(github.webhooks.verify(signed(wrong), SECRET)).toBe(false)
    }
  })
})

test('repetitions of a delivery share its id', () => {
  expect(github.webhooks.deliveryId(delivery('push', push()))).toBe('72d3162e-cc78-11e3-81ab-4c9367dc0958')
})

describe('a push', () => {
  test('has the branch, the commit and the changed files', () => {
    expect(parse('push', push())).toEqual({
      identifier: 'acme/network',
      events: [
        {
          kind: 'push',
          branch: 'main',
          before: SHA.main,
          commit: {
            sha: SHA.pushed,
            message: 'Add a subnet for the database\n\nRefs #12',
            url: `https://github.com/acme/network/commit/${SHA.pushed}`,
          },
          compareUrl: 'https://github.com/acme/network/compare/7f2a9c1d5b3e...c0ffee254729',
          sender: monaSender,
          changedFiles: ['network/db.tf', 'network/main.tf', 'legacy/old.tf'],
        },
      ],
    })
  })

  test('to a new branch has no commit before it, and its files are unknown', () => {
    const body = push({ ref: 'refs/heads/feature/subnets', before: ZEROS, created: true })

    expect(parse('push', body).events?.[0]).toMatchObject({
      kind: 'push',
      branch: 'feature/subnets',
      before: null,
      commit: { sha: SHA.pushed },
      changedFiles: null,
    })
  })

  test('that deletes a branch has no commit', () => {
    expect(parse('push', push(deletion)).events?.[0]).toMatchObject({ kind: 'push', before: SHA.main, commit: null })
  })

  const manyFiles = Array.from({ length: 3000 }, (_, index) => `file-${index}.tf`)
  test.each([
    ['was forced', { forced: true }],
    ['has no commits, as after a fast-forward to an older branch', { commits: [] }],
    ['has as many commits as a body can', { commits: Array.from({ length: 2048 }, () => commit(SHA.pushed)) }],
    ['does not list the last commit', { commits: [commit(SHA.merge, { added: ['a.tf'] })] }],
    ['has a commit with as many files as a body can', { commits: [commit(SHA.pushed, { added: manyFiles })] }],
    ['has commits without files', { commits: [{ ...commit(SHA.pushed), modified: undefined }] }],
  ])('lists no changed files if it %s', (_, changes) => {
    expect(parse('push', push(changes)).events?.[0]).toMatchObject({ branch: 'main', changedFiles: null })
  })

  test('of a tag names its commit, not the object of the tag', () => {
    const body = push({ ref: 'refs/tags/v1.2.0', before: ZEROS, after: SHA.tagObject, created: true, commits: [] })

    expect(parse('push', body).events?.[0]).toEqual({
      kind: 'tag',
      tag: 'v1.2.0',
      commit: {
        sha: SHA.pushed,
        message: 'Add a subnet for the database\n\nRefs #12',
        url: `https://github.com/acme/network/commit/${SHA.pushed}`,
      },
      sender: monaSender,
    })
  })

  test('that deletes a tag has no commit', () => {
    const body = push({ ...deletion, ref: 'refs/tags/v1.2.0' })

    expect(parse('push', body).events?.[0]).toMatchObject({ kind: 'tag', tag: 'v1.2.0', commit: null })
  })

  test('of other refs is ignored', () => {
    const parsed = parse('push', push({ ref: 'refs/notes/commits' }))

    expect(parsed).toEqual({
      identifier: 'acme/network',
      ignored: 'refs/notes/commits is neither a branch nor a tag',
    })
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
            url: 'https://github.com/acme/network/pull/7',
            head: {
              sha: SHA.pushed,
              message: '',
              url: `https://github.com/acme/network/pull/7/commits/${SHA.pushed}`,
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

  const merged = pullRequest({ state: 'closed', merged_at: '2026-11-21T08:00:00Z', closed_at: '2026-11-21T08:00:00Z' })
  const toRelease = { base: { ref: { from: 'release' }, sha: { from: SHA.merge } } }
  test.each<[string, PullRequestEvent['action'], string, Record<string, unknown>?, ReturnType<typeof pullRequest>?]>([
    ['reopened', 'opened', 'reopened'],
    ['marked as ready for review', 'opened', 'ready_for_review'],
    ['given new commits', 'updated', 'synchronize'],
    ['given another base', 'updated', 'edited', toRelease],
    ['closed', 'closed', 'closed'],
    ['merged', 'merged', 'closed', undefined, merged],
  ])('%s is %s', (_, action, name, changes, pull) => {
    expect(parse('pull_request', pullRequestEvent(name, pull, changes)).events?.[0]).toMatchObject({ action })
  })

  test('has the commit of the merge only after the merge', () => {
    const mergeOf = (body: unknown) => parse('pull_request', body).events?.[0] as PullRequestEvent

    expect(mergeOf(pullRequestEvent('closed', merged)).pullRequest.mergeSha).toBe(SHA.merge)
    expect(mergeOf(pullRequestEvent('closed')).pullRequest.mergeSha).toBeNull()
  })

  test('from another repository, even one that was deleted, is from a fork', () => {
    const head = pullRequest().head
    const fork = pullRequest({ head: { ...head, repo: repository('contributor/network', 99) } })
    const deleted = pullRequest({ head: { ...head, repo: null } })

    for (const pull of [fork, deleted]) {
      expect(parse('pull_request', pullRequestEvent('opened', pull)).events?.[0]).toMatchObject({
        pullRequest: { isFork: true },
      })
    }
  })

  test('of a deleted user without a body is a pull request', () => {
    const event = parse('pull_request', pullRequestEvent('opened', pullRequest({ user: null, body: null }))).events?.[0]

    expect(event).toMatchObject({ pullRequest: { body: '', author: { username: 'ghost' } } })
  })

  test.each(['labeled', 'edited', 'review_requested', 'converted_to_draft'])('that is %s is ignored', (action) => {
    const changes = action === 'edited' ? { title: { from: 'Add subnet' } } : undefined

    expect(parse('pull_request', pullRequestEvent(action, pullRequest(), changes)).ignored).toContain(action)
  })
})

test('a ping is ignored', () => {
  expect(parse('ping', ping('https://groundstate.example/webhooks/vcs/1'))).toEqual({
    identifier: 'acme/network',
    ignored: 'the webhook was created',
  })
})

test('other events are ignored by name', () => {
  expect(parse('star', { action: 'created', repository: repository() })).toEqual({
    identifier: 'acme/network',
    ignored: 'the event "star" starts no runs',
  })
  expect(parse('installation', { action: 'created' }).identifier).toBeUndefined()
})

test.each([
  ['not JSON', 'payload=%7B%7D', 'it is not JSON'],
  ['a list', '[]', 'expected object'],
  ['empty', '', 'not JSON'],
  ['without a ref', JSON.stringify(push({ ref: undefined })), 'ref'],
  ['with an option in place of a commit', JSON.stringify(push({ after: '--upload-pack=x' })), 'commit id'],
])('a body that is %s is refused', (_, body, message) => {
  expect(() => parse('push', body)).toThrow(ZodError)
  expect(() => parse('push', body)).toThrow(message)
})
