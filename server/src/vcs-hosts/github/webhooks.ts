import type { HostWebhooks, ParsedWebhook, PullRequestEvent } from '../host.ts'
import { headerOf, isNoCommit, isSignedWith, parseBody, parseRef } from '../signed-body.ts'
import { changedFiles, hostPullRequest, named, pullRequestBody, pushBody, sender } from './schemas.ts'

/** Events of webhooks to create. */
export const EVENTS = ['push', 'pull_request'] as const

const SIGNATURE_PREFIX = 'sha256='

const PARSERS: ReadonlyMap<string, (body: Buffer) => ParsedWebhook> = new Map([
  ['push', parsePush],
  ['pull_request', parsePullRequest],
])

const PULL_REQUEST_ACTIONS: ReadonlyMap<string, PullRequestEvent['action']> = new Map([
  ['opened', 'opened'],
  ['reopened', 'opened'],
  ['ready_for_review', 'opened'],
  ['synchronize', 'updated'],
])

export const webhooks: HostWebhooks = {
  verify(request, secret) {
    const signature = headerOf(request, 'x-hub-signature-256')
    if (!signature?.startsWith(SIGNATURE_PREFIX)) return false
    return isSignedWith(secret, request.body, signature.slice(SIGNATURE_PREFIX.length))
  },

  deliveryId: (request) => headerOf(request, 'x-github-delivery'),

  parse(request) {
    const event = headerOf(request, 'x-github-event') ?? ''
    const parse = PARSERS.get(event)
    if (parse) return parse(request.body)
    const identifier = parseBody(named, request.body).repository?.full_name
    const ignored = event === 'ping' ? 'the webhook was created' : `the event "${event.slice(0, 50)}" starts no runs`
    return { identifier, ignored }
  },
}

function parsePush(content: Buffer): ParsedWebhook {
  const body = parseBody(pushBody, content)
  const identifier = body.repository.full_name
  const ref = parseRef(body.ref)
  if (!ref) return { identifier, ignored: `${body.ref.slice(0, 200)} is neither a branch nor a tag` }

  const { head_commit: head } = body
  const isDeleted = isNoCommit(body.after)
  if (ref.kind === 'tag') {
    if (!head && !isDeleted) return { identifier, ignored: `the tag ${ref.name} names no commit` }
    const commit = isDeleted || !head ? null : { sha: head.id, message: head.message, url: head.url }
    return { identifier, events: [{ kind: 'tag', tag: ref.name, commit, sender: sender(body.sender) }] }
  }
  const page = `${body.repository.html_url}/commit/${body.after}`
  return {
    identifier,
    events: [
      {
        kind: 'push',
        branch: ref.name,
        before: isNoCommit(body.before) ? null : body.before,
        commit: isDeleted ? null : { sha: body.after, message: head?.message ?? '', url: head?.url ?? page },
        compareUrl: body.compare,
        sender: sender(body.sender),
        changedFiles: isDeleted ? [] : changedFiles(body),
      },
    ],
  }
}

function parsePullRequest(content: Buffer): ParsedWebhook {
  const { action, pull_request: body, changes, repository, sender: user } = parseBody(pullRequestBody, content)
  const identifier = repository.full_name
  const pullRequest = hostPullRequest(body)
  const closed = body.merged_at ? 'merged' : 'closed'
  const edited = action === 'edited' && changes?.base ? 'updated' : undefined
  const known = action === 'closed' ? closed : (edited ?? PULL_REQUEST_ACTIONS.get(action))
  if (!known) return { identifier, ignored: `neither commits nor the base of the pull request changed (${action})` }
  return { identifier, events: [{ kind: 'pull-request', action: known, pullRequest, sender: sender(user) }] }
}
