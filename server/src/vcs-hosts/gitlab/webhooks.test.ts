import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { webhook } from '../testing/fake-host.ts'
import {
  branchCreated,
  branchDeleted,
  mergeRequest,
  mergeRequestOf,
  note,
  push,
  tagDeleted,
  tagPush,
} from './testing/bodies.ts'
import { gitlabWebhooks, signingToken } from './webhooks.ts'

const SECRET = 'secret of the webhook'
const parse = (body: unknown) => gitlabWebhooks.parse(webhook(body))

/** Signs as Standard Webhooks has it: the key is the base64 after `whsec_`. */
function signed(body: unknown, key = signingToken(SECRET), id = 'f5e5f430') {
  const request = webhook(body)
  const digest = createHmac('sha256', Buffer.from(key.replace('whsec_', ''), 'base64'))
    .update(`${id}.1773336214.`)
    .update(request.body)
    .digest('base64')
  const headers = { 'webhook-id': id, 'webhook-timestamp': '1773336214', 'webhook-signature': `v1,${digest}` }
  return { ...request, headers }
}

test('a request with the token of the webhook is accepted, one with another or none is not', () => {
  const verify = (headers: object) => gitlabWebhooks.verify(webhook(push, { ...headers }), SECRET)

  expect(verify({ 'x-gitlab-token': SECRET })).toBe(true)
  expect(verify({ 'x-gitlab-token': 'secret' })).toBe(false)
  expect(verify({})).toBe(false)
})

test('a signature is verified where there is one, whatever the token', () => {
  const good = signed(push)
  const withToken = { ...good, headers: { ...good.headers, 'x-gitlab-token': SECRET } }
  const tampered = { ...withToken, body: Buffer.from(JSON.stringify(tagPush)) }
  const otherKey = signed(push, signingToken('another secret'))

  expect(gitlabWebhooks.verify(good, SECRET)).toBe(true)
  expect(gitlabWebhooks.verify(withToken, SECRET)).toBe(true)
  expect(gitlabWebhooks.verify(tampered, SECRET)).toBe(false)
  expect(gitlabWebhooks.verify(otherKey, SECRET)).toBe(false)
})

test('one of several signatures suffices', () => {
  const request = signed(push)
  const headers = { ...request.headers, 'webhook-signature': `v1,AAAA ${request.headers['webhook-signature']}` }

  expect(gitlabWebhooks.verify({ ...request, headers }, SECRET)).toBe(true)
})

test('repetitions of a delivery share its id', () => {
  const id = (headers: object) => gitlabWebhooks.deliveryId(webhook(push, { ...headers }))

  expect(id({ 'webhook-id': 'f5e5f430', 'x-gitlab-event-uuid': '13792a34' })).toBe('f5e5f430')
  expect(id({ 'idempotency-key': 'f5e5f430' })).toBe('f5e5f430')
  expect(id({ 'x-gitlab-event-uuid': '13792a34' })).toBeUndefined()
})

test('a push in a nested group is an event of its branch', () => {
  expect(parse(push)).toEqual({
    identifier: 'acme/platform/network',
    events: [
      {
        kind: 'push',
        branch: 'main',
        before: push.before,
        commit: {
          sha: push.after,
          message: 'Fix the readme',
          url: `https://gitlab.example.com/acme/platform/network/-/commit/${push.after}`,
        },
        compareUrl: `https://gitlab.example.com/acme/platform/network/-/compare/${push.before}...${push.after}`,
        sender: {
          username: 'jsmith',
          avatarUrl: 'https://www.gravatar.com/avatar/d4c74594',
          pageUrl: 'https://gitlab.example.com/jsmith',
        },
        changedFiles: null,
      },
    ],
  })
})

test('new branches have nothing before, deleted ones no commit', () => {
  expect(parse(branchCreated).events?.[0]).toMatchObject({
    branch: 'feature/vpn',
    before: null,
    commit: { sha: push.after, message: '' },
  })
  expect(parse(branchDeleted).events?.[0]).toMatchObject({ branch: 'main', before: push.before, commit: null })
})

test('an annotated tag is reported with its commit', () => {
  expect(parse(tagPush).events?.[0]).toMatchObject({ kind: 'tag', tag: 'v1.0.0', commit: { sha: push.after } })
  expect(parse(tagDeleted).events?.[0]).toMatchObject({ kind: 'tag', tag: 'v1.0.0', commit: null })
})

test('a new merge request has its head, its target and the ref of its head', () => {
  const { events } = parse(mergeRequest)

  expect(events?.[0]).toMatchObject({
    kind: 'pull-request',
    action: 'opened',
    pullRequest: {
      number: 7,
      title: 'Add a VPN',
      body: 'For the office.',
      url: 'https://gitlab.example.com/acme/platform/network/-/merge_requests/7',
      head: { branch: 'feature/vpn', sha: push.after, message: 'Fix the readme' },
      base: { branch: 'main', sha: null },
      isFork: false,
      headRef: 'refs/merge-requests/7/head',
      mergeSha: null,
      author: { username: 'jsmith' },
    },
    sender: { username: 'jsmith' },
  })
})

test.each([
  ['reopened', { action: 'reopen' }, {}, 'opened'],
  ['got commits', { action: 'update', oldrev: push.before }, {}, 'updated'],
  ['got another target', { action: 'update' }, { target_branch: { previous: 'main', current: 'next' } }, 'updated'],
  ['was merged', { action: 'merge', state: 'merged', merge_commit_sha: push.before }, {}, 'merged'],
  ['was closed', { action: 'close', state: 'closed' }, {}, 'closed'],
])('a merge request that %s', (_, attributes, changes, action) => {
  const { events } = parse(mergeRequestOf(attributes, changes))

  const expected = { action, pullRequest: { mergeSha: action === 'merged' ? push.before : null } }
  expect(events?.[0]).toMatchObject(expected)
})

test('a merge request of another project is from a fork', () => {
  const { events } = parse(mergeRequestOf({ source_project_id: 21 }))

  expect(events?.[0]).toMatchObject({ pullRequest: { isFork: true } })
})

test('changes without commits are ignored with a reason', () => {
  expect(parse(mergeRequestOf({ action: 'update' }, { title: { previous: 'A', current: 'B' } })).ignored).toBe(
    'neither commits nor the target branch changed (update)',
  )
  expect(parse(mergeRequestOf({ action: 'approved' })).ignored).toMatch(/approved/)
  expect(parse(note)).toEqual({ identifier: 'acme/platform/network', ignored: 'events of kind note start nothing' })
})

test.each([['not JSON'], ['[]'], ['null'], ['{"object_kind":"push"}'], ['{"object_kind":"merge_request","user":{}}']])(
  'the body %s is refused',
  (body) => {
    expect(() => parse(body)).toThrow(expect.objectContaining({ name: 'ZodError' }))
  },
)
