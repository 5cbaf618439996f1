import { expect, test } from 'vitest'
import { signedWebhook, webhook } from '../testing/fake-host.ts'
import {
  fork,
  lostFork,
  NEW,
  OLD,
  pullRequest,
  pullRequestOf,
  push,
  pushOfNothing,
  pushOfSeveral,
} from './testing/bodies.ts'
import { bitbucketCloudWebhooks } from './webhooks.ts'

const SECRET = 'secret of the webhook'
const parse = (key: string, body: unknown) => bitbucketCloudWebhooks.parse(webhook(body, { 'x-event-key': key }))

test('the signature is the HMAC of the body', () => {
  const signed = signedWebhook(push, SECRET, 'x-hub-signature')

  expect(bitbucketCloudWebhooks.verify(signed, SECRET)).toBe(true)
  expect(bitbucketCloudWebhooks.verify(signed, 'another')).toBe(false)
  expect(bitbucketCloudWebhooks.verify({ ...signed, body: Buffer.from('{}') }, SECRET)).toBe(false)
  expect(bitbucketCloudWebhooks.verify(webhook(push), SECRET)).toBe(false)
})

test('attempts share the id of the request', () => {
  const request = webhook(push, { 'x-request-uuid': '2b1e7d35', 'x-attempt-number': '2' })

  expect(bitbucketCloudWebhooks.deliveryId(request)).toBe('2b1e7d35')
})

test('a push is an event of its branch', () => {
  expect(parse('repo:push', push)).toEqual({
    identifier: 'acme/network',
    events: [
      {
        kind: 'push',
        branch: 'main',
        before: OLD,
        commit: { sha: NEW, message: 'Add a subnet\n', url: `https://bitbucket.org/acme/network/commits/${NEW}` },
        compareUrl: `https://bitbucket.org/acme/network/branches/compare/${NEW}..${OLD}`,
        sender: {
          username: 'emmap1',
          avatarUrl: 'https://avatar.example.com/emmap1',
          pageUrl: 'https://bitbucket.org/%7Ba54f16da%7D/',
        },
        changedFiles: null,
      },
    ],
  })
})

test('each branch and tag of a push is an event', () => {
  expect(parse('repo:push', pushOfSeveral).events).toMatchObject([
    { kind: 'push', branch: 'main', before: OLD, commit: { sha: NEW } },
    { kind: 'push', branch: 'feature/vpn', before: null, commit: { sha: NEW } },
    { kind: 'push', branch: 'old-name', before: OLD, commit: null },
    { kind: 'tag', tag: 'v1.0.0', commit: { sha: NEW } },
    { kind: 'tag', tag: 'v1.0.0', commit: null },
  ])
  expect(parse('repo:push', pushOfNothing).ignored).toBe('no branch or tag changed')
})

test('a new pull request has its branches', () => {
  const { identifier, events } = parse('pullrequest:created', pullRequest)

  expect(identifier).toBe('acme/network')
  expect(events).toMatchObject([
    {
      kind: 'pull-request',
      action: 'opened',
      pullRequest: {
        number: 7,
        title: 'Add a VPN',
        body: 'For the office.',
        url: 'https://bitbucket.org/acme/network/pull-requests/7',
        head: { branch: 'feature/vpn', sha: '507a576e59b3' },
        base: { branch: 'main', sha: '7d1a175411ef' },
        isFork: false,
        headRef: 'refs/heads/feature/vpn',
        mergeSha: null,
        author: { username: 'emmap1' },
      },
    },
  ])
})

test.each([
  ['pullrequest:updated', 'updated'],
  ['pullrequest:fulfilled', 'merged'],
  ['pullrequest:rejected', 'closed'],
])('%s', (key, action) => {
  const merged = pullRequestOf({ merge_commit: { hash: '4f8f6de9d0ff' } })

  expect(parse(key, merged).events).toMatchObject([{ action, pullRequest: { mergeSha: '4f8f6de9d0ff' } }])
})

test.each([fork, lostFork])('the head of a fork has no ref in the repository', (body) => {
  const { events } = parse('pullrequest:created', body)

  expect(events).toMatchObject([{ pullRequest: { isFork: true, headRef: null } }])
})

test('other events are ignored with a reason', () => {
  expect(parse('pullrequest:approved', pullRequest)).toEqual({
    identifier: 'acme/network',
    ignored: 'events of kind pullrequest:approved start nothing',
  })
})

test.each([
  ['repo:push', '{'],
  ['repo:push', '{"push":{"changes":null}}'],
  ['pullrequest:created', '{"pullrequest":{"id":"7"}}'],
])('a body of %s that is not the one of the host is refused', (key, body) => {
  expect(() => parse(key, body)).toThrow(expect.objectContaining({ name: 'ZodError' }))
})
