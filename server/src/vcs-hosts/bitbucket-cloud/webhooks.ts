import type { z } from 'zod'
import { BODY_HMAC, headerOf, isSignedBody, NOBODY, parseBody } from '../bodies.ts'
import type { HostEvent, HostWebhooks, PullRequest, PullRequestEvent, Sender, WebhookRequest } from '../host.ts'
import {
  anyHookSchema,
  type BitbucketAccount,
  type BitbucketPullRequest,
  pullRequestHookSchema,
  pushSchema,
} from './schemas.ts'

const PULL_REQUEST_ACTIONS: ReadonlyMap<string, PullRequestEvent['action']> = new Map([
  ['pullrequest:created', 'opened'],
  ['pullrequest:updated', 'updated'],
  ['pullrequest:fulfilled', 'merged'],
  ['pullrequest:rejected', 'closed'],
])

export const EVENTS = ['repo:push', ...PULL_REQUEST_ACTIONS.keys()]

export const bitbucketCloudWebhooks: HostWebhooks = {
  signedBy: [`X-Hub-Signature: sha256=${BODY_HMAC}`],
  verify: (request, secret) => isSignedBody(request, secret, { signature: headerOf(request, 'x-hub-signature') }),
  // Repetitions have the same id, and another `X-Attempt-Number`.
  deliveryId: (request) => headerOf(request, 'x-request-uuid'),
  parse(request) {
    const key = headerOf(request, 'x-event-key') ?? ''
    if (key === 'repo:push') return parsePush(request)
    const action = PULL_REQUEST_ACTIONS.get(key)
    if (action === undefined) {
      const { repository } = parseBody(anyHookSchema, request)
      return { identifier: repository?.full_name, ignored: `events of kind ${key} start nothing` }
    }
    const { actor, repository, pullrequest } = parseBody(pullRequestHookSchema, request)
    const sender = senderOf(actor)
    // `updated` is sent for new commits, but for another title or reviewer, too: the body does not say which.
    const event: HostEvent = { kind: 'pull-request', action, pullRequest: pullRequestOf(pullrequest), sender }
    return { identifier: repository.full_name, events: [event] }
  },
}

function parsePush(request: WebhookRequest) {
  const { actor, repository, push } = parseBody(pushSchema, request)
  const [first, ...others] = push.changes.flatMap((change) => eventOf(change, senderOf(actor)))
  const identifier = repository.full_name
  if (first === undefined) return { identifier, ignored: 'no branch or tag changed' }
  return { identifier, events: [first, ...others] as [HostEvent, ...HostEvent[]] }
}

function eventOf(change: z.infer<typeof pushSchema>['push']['changes'][number], sender: Sender): HostEvent[] {
  const after = change.new
  const { type, name } = after ?? change.old ?? { type: '', name: '' }
  const commit = after && {
    sha: after.target.hash,
    message: after.target.message ?? '',
    url: after.target.links.html?.href ?? '',
  }
  if (type === 'tag') return [{ kind: 'tag', tag: name, commit, sender }]
  if (name === '') return []
  return [
    {
      kind: 'push',
      branch: name,
      before: change.old?.target.hash ?? null,
      commit,
      compareUrl: change.links.html?.href ?? commit?.url ?? '',
      sender,
      changedFiles: null,
    },
  ]
}

/** For a pull request of a webhook or of the API. */
export function pullRequestOf(row: BitbucketPullRequest): PullRequest {
  const { source, destination } = row
  const isFork = source.repository?.full_name !== destination.repository?.full_name
  return {
    number: row.id,
    title: row.title,
    body: row.description ?? '',
    url: row.links.html.href,
    head: {
      branch: source.branch.name,
      sha: source.commit?.hash ?? '',
      message: '',
      url: source.commit?.links.html?.href ?? '',
    },
    base: { branch: destination.branch.name, sha: destination.commit?.hash ?? null },
    isFork,
    // Bitbucket Cloud has no refs for pull requests.
    headRef: isFork ? null : `refs/heads/${source.branch.name}`,
    mergeSha: row.merge_commit?.hash ?? null,
    author: row.author === null ? NOBODY : senderOf(row.author),
  }
}

export function senderOf({ nickname, display_name: name, links }: BitbucketAccount): Sender {
  return { username: nickname ?? name ?? '', avatarUrl: links.avatar?.href ?? '', pageUrl: links.html?.href ?? '' }
}
