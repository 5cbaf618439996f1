import { expect, test } from 'vitest'
import { webhook } from '../testing/fake-host.ts'
import {
  fork,
  NEW,
  OLD,
  pullRequest,
  pullRequestEvent,
  push,
  pushOfNotes,
  pushOfSeveral,
  repository,
} from './testing/bodies.ts'
import { azureDevopsWebhooks, identifierOf } from './webhooks.ts'

const PAGE = 'https://dev.azure.com/fabrikam/Fiber%20Plant/_git/network'
const parse = (body: unknown) => azureDevopsWebhooks.parse(webhook(body))

test('the password is the secret, the user is fixed', () => {
  const verify = (credential: string) => {
    const authorization = `Basic ${Buffer.from(credential).toString('base64')}`
    return azureDevopsWebhooks.verify(webhook(push, { authorization }), 'secret')
  }

  expect(verify('groundstate:secret')).toBe(true)
  expect(verify('groundstate:another')).toBe(false)
  expect(verify('another:secret')).toBe(false)
  expect(azureDevopsWebhooks.verify(webhook(push), 'secret')).toBe(false)
})

test('the id of a delivery is in the body', () => {
  expect(azureDevopsWebhooks.deliveryId(webhook(push))).toBe('03c164c2-8912-4d5e-8009-3707d5f83734')
  expect(azureDevopsWebhooks.deliveryId(webhook('<html>'))).toBeUndefined()
})

test('a push is an event of its branch', () => {
  expect(parse(push)).toEqual({
    identifier: 'fabrikam/Fiber Plant/_git/network',
    events: [
      {
        kind: 'push',
        branch: 'main',
        before: OLD,
        commit: { sha: NEW, message: 'Add a subnet', url: `${PAGE}/commit/${NEW}` },
        compareUrl: `${PAGE}/branchCompare?baseVersion=GC${OLD}&targetVersion=GC${NEW}`,
        sender: {
          username: 'jamal@fabrikam.example',
          avatarUrl: 'https://dev.azure.com/fabrikam/_api/_common/identityImage?id=54d125f7',
          pageUrl: '',
        },
        changedFiles: null,
      },
    ],
  })
})

test('each branch and tag of a push is an event', () => {
  expect(parse(pushOfSeveral).events).toMatchObject([
    { kind: 'push', branch: 'main' },
    { kind: 'push', branch: 'feature/vpn', before: null, commit: { sha: NEW } },
    { kind: 'push', branch: 'old-name', before: OLD, commit: null },
    { kind: 'tag', tag: 'v1.0.0', commit: { sha: NEW } },
  ])
  expect(parse(pushOfNotes).ignored).toBe('no branch or tag changed')
})

test('a new pull request has its branches; its trial merge is none', () => {
  expect(parse(pullRequestEvent('git.pullrequest.created')).events).toMatchObject([
    {
      kind: 'pull-request',
      action: 'opened',
      pullRequest: {
        number: 7,
        title: 'Add a VPN',
        body: 'For the office.',
        url: `${PAGE}/pullrequest/7`,
        head: { branch: 'feature/vpn', sha: NEW },
        base: { branch: 'main', sha: OLD },
        isFork: false,
        headRef: 'refs/heads/feature/vpn',
        mergeSha: null,
        author: { username: 'jamal@fabrikam.example' },
      },
    },
  ])
})

test.each([
  ['git.pullrequest.updated', 'active', 'updated'],
  ['git.pullrequest.updated', 'completed', 'merged'],
  ['git.pullrequest.updated', 'abandoned', 'closed'],
  ['git.pullrequest.merged', 'completed', 'merged'],
])('%s of a pull request that is %s', (eventType, status, action) => {
  const mergeSha = action === 'merged' ? pullRequest.lastMergeCommit.commitId : null

  expect(parse(pullRequestEvent(eventType, { status })).events).toMatchObject([{ action, pullRequest: { mergeSha } }])
})

test('trial merges and other events are ignored with a reason', () => {
  expect(parse(pullRequestEvent('git.pullrequest.merged'))).toEqual({
    identifier: 'fabrikam/Fiber Plant/_git/network',
    ignored: 'events of kind git.pullrequest.merged start nothing',
  })
  expect(parse({ id: '1', eventType: 'build.complete' }).ignored).toBe('events of kind build.complete start nothing')
})

test('the head of a fork has no ref in the repository', () => {
  const { events } = parse(pullRequestEvent('git.pullrequest.created', fork))

  expect(events).toMatchObject([{ pullRequest: { isFork: true, headRef: null } }])
})

test.each([
  ['https://dev.azure.com/fabrikam/Fiber%20Plant/_git/network', 'fabrikam'],
  ['https://fabrikam.visualstudio.com/DefaultCollection/Fiber%20Plant/_git/network', 'fabrikam'],
  ['https://dev.azure.com/fabrikam/_git/network', 'fabrikam'],
  ['https://dev.azure.com/fabrikam/DefaultCollection/_git/network', 'fabrikam'],
  ['https://ado.example.com/tfs/DefaultCollection/Fiber%20Plant/_git/network', 'DefaultCollection'],
])('the organization of %s is %s', (remoteUrl, owner) => {
  expect(identifierOf({ ...repository, remoteUrl })).toBe(`${owner}/Fiber Plant/_git/network`)
})

test.each([
  'no JSON',
  '{"id":"1","eventType":"git.push","resource":{}}',
  '{"id":"1","eventType":"git.pullrequest.created"}',
])('the body %s is refused', (body) => {
  expect(() => parse(body)).toThrow(expect.objectContaining({ name: 'ZodError' }))
})
