import { BODY_HMAC, headerOf, isSignedBody, isNoCommit, parseBody } from '../bodies.ts'
import type { HostEvent, HostWebhooks, PullRequest, PullRequestEvent, Sender, WebhookRequest } from '../host.ts'
import {
  anyHookSchema,
  type BitbucketPullRequest,
  type BitbucketPush,
  type BitbucketUser,
  pullRequestHookSchema,
  pushSchema,
  type RepositoryOfHook,
} from './schemas.ts'

const PULL_REQUEST_ACTIONS: ReadonlyMap<string, PullRequestEvent['action']> = new Map([
  ['pr:opened', 'opened'],
  ['pr:from_ref_updated', 'updated'],
  ['pr:modified', 'updated'],
  ['pr:merged', 'merged'],
  ['pr:declined', 'closed'],
  ['pr:deleted', 'closed'],
])

export const EVENTS = ['repo:refs_changed', ...PULL_REQUEST_ACTIONS.keys()]

export const bitbucketDataCenterWebhooks: HostWebhooks = {
  signedBy: [`X-Hub-Signature: sha256=${BODY_HMAC}`],
  verify: (request, secret) => isSignedBody(request, secret, { signature: headerOf(request, 'x-hub-signature') }),
  deliveryId: (request) => headerOf(request, 'x-request-id'),
  parse(request) {
    const key = headerOf(request, 'x-event-key') ?? ''
    if (key === 'repo:refs_changed') return parsePush(parseBody(pushSchema, request))
    const action = PULL_REQUEST_ACTIONS.get(key)
    if (action !== undefined) return parsePullRequest(request, key, action)
    const { repository } = parseBody(anyHookSchema, request)
    const identifier = repository && identifierOf(repository)
    if (key === 'diagnostics:ping') return { identifier, ignored: 'a test of the connection' }
    return { identifier, ignored: `events of kind ${key} start nothing` }
  },
}

function parsePush(body: BitbucketPush) {
  const identifier = identifierOf(body.repository)
  const [first, ...others] = body.changes.map((change) => eventOf(change, body))
  if (first === undefined) return { identifier, ignored: 'no branch or tag changed' }
  return { identifier, events: [first, ...others] as [HostEvent, ...HostEvent[]] }
}

function eventOf({ ref, fromHash, toHash }: BitbucketPush['changes'][number], body: BitbucketPush): HostEvent {
  const { repository, toCommit } = body
  const sender = senderOf(body.actor)
  const commit = isNoCommit(toHash)
    ? null
    : {
        sha: toHash,
        message: toCommit?.id === toHash ? toCommit.message : '',
        url: commitUrl(repository, toHash),
      }
  if (ref.type === 'TAG') return { kind: 'tag', tag: ref.displayId, commit, sender }
  const before = isNoCommit(fromHash) ? null : fromHash
  const page = pageOf(repository)
  const compareUrl =
    page === '' || commit === null || before === null
      ? (commit?.url ?? '')
      : `${page}/compare/diff?targetBranch=${before}&sourceBranch=${toHash}`
  return { kind: 'push', branch: ref.displayId, before, commit, compareUrl, sender, changedFiles: null }
}

function parsePullRequest(request: WebhookRequest, key: string, action: PullRequestEvent['action']) {
  const { actor, pullRequest, previousTarget } = parseBody(pullRequestHookSchema, request)
  const identifier = identifierOf(pullRequest.toRef.repository)
  if (key === 'pr:modified' && (previousTarget == null || previousTarget.id === pullRequest.toRef.id)) {
    return { identifier, ignored: 'neither commits nor the target branch changed' }
  }
  const sender = senderOf(actor)
  const event: HostEvent = { kind: 'pull-request', action, pullRequest: pullRequestOf(pullRequest), sender }
  return { identifier, events: [event] as [HostEvent] }
}

/** For a pull request of a webhook or of the API. */
export function pullRequestOf(row: BitbucketPullRequest): PullRequest {
  const { fromRef, toRef } = row
  const page = pageOf(toRef.repository)
  return {
    number: row.id,
    title: row.title,
    body: row.description ?? '',
    url: row.links.self?.[0]?.href ?? (page === '' ? '' : `${page}/pull-requests/${row.id}`),
    head: {
      branch: fromRef.displayId,
      sha: fromRef.latestCommit,
      message: '',
      url: commitUrl(fromRef.repository, fromRef.latestCommit),
    },
    base: { branch: toRef.displayId, sha: toRef.latestCommit },
    isFork: fromRef.repository.id !== toRef.repository.id,
    headRef: `refs/pull-requests/${row.id}/from`,
    mergeSha: row.properties.mergeCommit?.id ?? null,
    author: senderOf(row.author.user),
  }
}

const identifierOf = ({ project, slug }: RepositoryOfHook) => `${project.key}/${slug}`

/** Empty if the body has no links. */
const pageOf = ({ links }: RepositoryOfHook) => links.self?.[0]?.href.replace(/\/browse$/, '') ?? ''

function commitUrl(repository: RepositoryOfHook, sha: string) {
  const page = pageOf(repository)
  return page === '' ? '' : `${page}/commits/${sha}`
}

function senderOf({ name, links }: BitbucketUser): Sender {
  return { username: name, avatarUrl: '', pageUrl: links.self?.[0]?.href ?? '' }
}
