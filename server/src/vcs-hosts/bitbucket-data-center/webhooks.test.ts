import { expect, test } from 'vitest'
import { signedWebhook, webhook } from '../testing/fake-host.ts'
import {
  declined,
  deleted,
  fork,
  fromRefUpdated,
  merged,
  NEW,
  OLD,
  opened,
  ping,
  push,
  pushOfOldVersion,
  pushOfSeveral,
  retargeted,
  retitled,
} from './testing/bodies.ts'
import { bitbucketDataCenterWebhooks } from './webhooks.ts'

const PAGE = 'https://bitbucket.example.com/projects/ACME/repos/network'
const parse = (body: { eventKey: string }) =>
  bitbucketDataCenterWebhooks.parse(webhook(body, { 'x-event-key': body.eventKey }))

test('the signature is the HMAC of the body', () => {
  const signed = signedWebhook(push, 'secret', 'x-hub-signature', { 'x-request-id': '7c5b8d10' })

  expect(bitbucketDataCenterWebhooks.verify(signed, 'secret')).toBe(true)
  expect(bitbucketDataCenterWebhooks.verify(signed, 'another')).toBe(false)
  expect(bitbucketDataCenterWebhooks.verify(webhook(push), 'secret')).toBe(false)
  expect(bitbucketDataCenterWebhooks.deliveryId(signed)).toBe('7c5b8d10')
})

test('a push is an event of its branch', () => {
  expect(parse(push)).toEqual({
    identifier: 'ACME/network',
    events: [
      {
        kind: 'push',
        branch: 'main',
        before: OLD,
        commit: { sha: NEW, message: 'Add a subnet', url: `${PAGE}/commits/${NEW}` },
        compareUrl: `${PAGE}/compare/diff?targetBranch=${OLD}&sourceBranch=${NEW}`,
        sender: { username: 'jcitizen', avatarUrl: '', pageUrl: 'https://bitbucket.example.com/users/jcitizen' },
        changedFiles: null,
      },
    ],
  })
})

test('older versions send no links and no message', () => {
  expect(parse(pushOfOldVersion).events).toMatchObject([
    { commit: { sha: NEW, message: '', url: '' }, compareUrl: '', sender: { username: 'jcitizen', pageUrl: '' } },
  ])
})

test('each branch and tag of a push is an event', () => {
  expect(parse(pushOfSeveral).events).toMatchObject([
    { kind: 'push', branch: 'main' },
    { kind: 'push', branch: 'feature/vpn', before: null, commit: { sha: NEW } },
    { kind: 'push', branch: 'old-name', before: OLD, commit: null },
    { kind: 'tag', tag: 'v1.0.0', commit: { sha: NEW } },
    { kind: 'tag', tag: 'v0.9.0', commit: null },
  ])
})

test('a new pull request has its branches and the ref of its head', () => {
  const { identifier, events } = parse(opened)

  expect(identifier).toBe('ACME/network')
  expect(events).toMatchObject([
    {
      kind: 'pull-request',
      action: 'opened',
      pullRequest: {
        number: 7,
        title: 'Add a VPN',
        body: 'For the office.',
        url: `${PAGE}/pull-requests/7`,
        head: { branch: 'feature/vpn', sha: NEW, url: `${PAGE}/commits/${NEW}` },
        base: { branch: 'main', sha: OLD },
        isFork: false,
        headRef: 'refs/pull-requests/7/from',
        mergeSha: null,
        author: { username: 'jcitizen' },
      },
    },
  ])
})

test.each([
  [fromRefUpdated, 'updated'],
  [retargeted, 'updated'],
  [merged, 'merged'],
  [declined, 'closed'],
  [deleted, 'closed'],
])('the event $eventKey', (body, action) => {
  const mergeSha = action === 'merged' ? merged.pullRequest.properties.mergeCommit.id : null

  expect(parse(body).events).toMatchObject([{ action, pullRequest: { mergeSha } }])
})

test('a pull request from a personal repository is from a fork', () => {
  expect(parse(fork).events).toMatchObject([{ pullRequest: { isFork: true, head: { branch: 'feature/vpn' } } }])
})

test('other events are ignored with a reason', () => {
  const tested = bitbucketDataCenterWebhooks.parse(webhook(ping, { 'x-event-key': 'diagnostics:ping' }))

  expect(tested).toEqual({ identifier: undefined, ignored: 'a test of the connection' })
  expect(parse(retitled).ignored).toBe('neither commits nor the target branch changed')
  expect(parse({ ...opened, eventKey: 'pr:reviewer:approved' }).ignored).toBe(
    'events of kind pr:reviewer:approved start nothing',
  )
})

test.each([
  ['repo:refs_changed', '<html>'],
  ['repo:refs_changed', '{"changes":[{"ref":null}]}'],
  ['pr:opened', '{"pullRequest":{}}'],
])('a body of %s that is not the one of the host is refused', (key, body) => {
  const request = webhook(body, { 'x-event-key': key })

  expect(() => bitbucketDataCenterWebhooks.parse(request)).toThrow(expect.objectContaining({ name: 'ZodError' }))
})
