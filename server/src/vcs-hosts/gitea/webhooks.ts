import { BODY_HMAC, headerOf, isNoCommit, isSignedBody, parseBody, parseRef } from '../bodies.ts'
import type { HostWebhooks, ParsedWebhook, PullRequest, PullRequestEvent, Sender, WebhookRequest } from '../host.ts'
import {
  anyHookSchema,
  deletionSchema,
  type GiteaAccount,
  type GiteaPullRequest,
  pullRequestHookSchema,
  pushSchema,
} from './schemas.ts'

/** Events of webhooks to create. `pull_request` would include labels, comments and reviews. */
export const EVENTS = ['push', 'delete', 'pull_request_only', 'pull_request_sync'] as const

const PARSERS: ReadonlyMap<string, (request: WebhookRequest) => ParsedWebhook> = new Map([
  ['push', parsePush],
  ['delete', parseDeletion],
  ['pull_request', parsePullRequest],
  // Some versions send the kind of the event instead of the event.
  ['pull_request_sync', parsePullRequest],
])

const PULL_REQUEST_ACTIONS: ReadonlyMap<string, PullRequestEvent['action']> = new Map([
  ['opened', 'opened'],
  ['reopened', 'opened'],
  ['synchronized', 'updated'],
])

export const giteaWebhooks: HostWebhooks = {
  signedBy: [`X-Gitea-Signature: ${BODY_HMAC}`, `X-Forgejo-Signature: ${BODY_HMAC}`],
  verify: (request, secret) =>
    isSignedBody(request, secret, { signature: eitherHeader(request, 'signature'), prefix: '' }),

  deliveryId: (request) => eitherHeader(request, 'delivery'),

  parse(request) {
    const event = eitherHeader(request, 'event') ?? ''
    const parse = PARSERS.get(event)
    if (parse) return parse(request)
    const identifier = parseBody(anyHookSchema, request).repository?.full_name
    return { identifier, ignored: `the event "${event.slice(0, 50)}" starts no runs` }
  },
}

/** Forgejo sends its own headers and those of Gitea. */
function eitherHeader(request: WebhookRequest, name: string) {
  return headerOf(request, `x-forgejo-${name}`) ?? headerOf(request, `x-gitea-${name}`)
}

function parsePush(request: WebhookRequest): ParsedWebhook {
  const body = parseBody(pushSchema, request)
  const { head_commit: head, repository } = body
  const identifier = repository.full_name
  const ref = parseRef(body.ref)
  if (!ref) return { identifier, ignored: `${body.ref.slice(0, 200)} is neither a branch nor a tag` }

  const isDeleted = isNoCommit(body.after)
  const commit = head
    ? { sha: head.id, message: head.message, url: head.url }
    : { sha: body.after, message: '', url: `${repository.html_url}/commit/${body.after}` }
  const common = { commit: isDeleted ? null : commit, sender: senderOf(body.sender) }
  if (ref.kind === 'tag') return { identifier, events: [{ kind: 'tag', tag: ref.name, ...common }] }
  return {
    identifier,
    events: [
      {
        kind: 'push',
        branch: ref.name,
        before: isNoCommit(body.before) ? null : body.before,
        compareUrl: body.compare_url,
        // The body does not say whether the push was forced, and so undid commits that it does not list.
        changedFiles: isDeleted ? [] : null,
        ...common,
      },
    ],
  }
}

function parseDeletion(request: WebhookRequest): ParsedWebhook {
  const { ref, ref_type: kind, repository, sender: user } = parseBody(deletionSchema, request)
  const identifier = repository.full_name
  const common = { commit: null, sender: senderOf(user) }
  if (kind === 'tag') return { identifier, events: [{ kind, tag: ref, ...common }] }
  if (kind !== 'branch') return { identifier, ignored: `a ${kind.slice(0, 50)} is neither a branch nor a tag` }
  const compareUrl = `${repository.html_url}/branches`
  return { identifier, events: [{ kind: 'push', branch: ref, before: null, compareUrl, changedFiles: [], ...common }] }
}

function parsePullRequest(request: WebhookRequest): ParsedWebhook {
  const { action, pull_request: body, changes, repository, sender: user } = parseBody(pullRequestHookSchema, request)
  const identifier = repository.full_name
  const pullRequest = pullRequestOf(body)
  if (!pullRequest) return { identifier, ignored: 'the branch of the pull request does not exist any more' }
  const closed = body.merged ? 'merged' : 'closed'
  const edited = action === 'edited' && changes?.ref ? 'updated' : undefined
  const known = action === 'closed' ? closed : (edited ?? PULL_REQUEST_ACTIONS.get(action))
  if (!known) return { identifier, ignored: `neither commits nor the base of the pull request changed (${action})` }
  return { identifier, events: [{ kind: 'pull-request', action: known, pullRequest, sender: senderOf(user) }] }
}

/** For a pull request of a webhook or of the API. Undefined if the head does not exist any more. */
export function pullRequestOf(body: GiteaPullRequest): PullRequest | undefined {
  const { head, base } = body
  if (head.sha === '') return undefined
  // Everyone who may read the repository may push to `refs/for/`, so such a head is as untrusted as a fork, although it is not one.
  const isAgit = body.flow === 1 || head.label === ''
  return {
    number: body.number,
    title: body.title,
    body: body.body ?? '',
    url: body.html_url,
    // The API has no message here; git has it.
    head: {
      sha: head.sha,
      message: '',
      url: `${body.html_url}/commits/${head.sha}`,
      branch: head.label === '' ? head.ref : head.label,
    },
    base: { branch: base.ref, sha: base.sha },
    isFork: isAgit || head.repo_id !== base.repo_id,
    headRef: `refs/pull/${body.number}/head`,
    mergeSha: body.merged ? (body.merge_commit_sha ?? null) : null,
    author: senderOf(body.user),
  }
}

function senderOf(body: GiteaAccount | null | undefined): Sender {
  // Gitea shows the same name for accounts that were deleted.
  return { username: body?.login ?? 'Ghost', avatarUrl: body?.avatar_url ?? '', pageUrl: body?.html_url ?? '' }
}
