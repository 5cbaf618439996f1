import type { HostWebhooks, ParsedWebhook, PullRequestEvent } from '../host.ts'
import { headerOf, isNoCommit, isSignedWith, parseBody, parseRef } from '../signed-body.ts'
import { deleteBody, hostPullRequest, named, pullRequestBody, pushBody, sender } from './schemas.ts'

/** Events of webhooks to create. `pull_request` would include labels, comments and reviews. */
export const EVENTS = ['push', 'delete', 'pull_request_only', 'pull_request_sync'] as const

const PARSERS: ReadonlyMap<string, (body: Buffer) => ParsedWebhook> = new Map([
  ['push', parsePush],
  ['delete', parseDelete],
  ['pull_request', parsePullRequest],
  // Some versions send the kind of the event instead of the event.
  ['pull_request_sync', parsePullRequest],
])

const PULL_REQUEST_ACTIONS: ReadonlyMap<string, PullRequestEvent['action']> = new Map([
  ['opened', 'opened'],
  ['reopened', 'opened'],
  ['synchronized', 'updated'],
])

export const webhooks: HostWebhooks = {
  verify: (request, secret) => isSignedWith(secret, request.body, eitherHeader(request, 'signature')),

  deliveryId: (request) => eitherHeader(request, 'delivery'),

  parse(request) {
    const event = eitherHeader(request, 'event') ?? ''
    const parse = PARSERS.get(event)
    if (parse) return parse(request.body)
    const identifier = parseBody(named, request.body).repository?.full_name
    return { identifier, ignored: `the event "${event.slice(0, 50)}" starts no runs` }
  },
}

/** Forgejo sends its own headers and those of Gitea. */
function eitherHeader(request: Parameters<HostWebhooks['deliveryId']>[0], name: string) {
  return headerOf(request, `x-forgejo-${name}`) ?? headerOf(request, `x-gitea-${name}`)
}

function parsePush(content: Buffer): ParsedWebhook {
  const body = parseBody(pushBody, content)
  const { head_commit: head, repository } = body
  const identifier = repository.full_name
  const ref = parseRef(body.ref)
  if (!ref) return { identifier, ignored: `${body.ref.slice(0, 200)} is neither a branch nor a tag` }

  const isDeleted = isNoCommit(body.after)
  const commit = head
    ? { sha: head.id, message: head.message, url: head.url }
    : { sha: body.after, message: '', url: `${repository.html_url}/commit/${body.after}` }
  const common = { commit: isDeleted ? null : commit, sender: sender(body.sender) }
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

function parseDelete(content: Buffer): ParsedWebhook {
  const { ref, ref_type: kind, repository, sender: user } = parseBody(deleteBody, content)
  const identifier = repository.full_name
  const common = { commit: null, sender: sender(user) }
  if (kind === 'tag') return { identifier, events: [{ kind, tag: ref, ...common }] }
  if (kind !== 'branch') return { identifier, ignored: `a ${kind.slice(0, 50)} is neither a branch nor a tag` }
  const compareUrl = `${repository.html_url}/branches`
  return { identifier, events: [{ kind: 'push', branch: ref, before: null, compareUrl, changedFiles: [], ...common }] }
}

function parsePullRequest(content: Buffer): ParsedWebhook {
  const { action, pull_request: body, changes, repository, sender: user } = parseBody(pullRequestBody, content)
  const identifier = repository.full_name
  const pullRequest = hostPullRequest(body)
  if (!pullRequest) return { identifier, ignored: 'the branch of the pull request does not exist any more' }
  const closed = body.merged ? 'merged' : 'closed'
  const edited = action === 'edited' && changes?.ref ? 'updated' : undefined
  const known = action === 'closed' ? closed : (edited ?? PULL_REQUEST_ACTIONS.get(action))
  if (!known) return { identifier, ignored: `neither commits nor the base of the pull request changed (${action})` }
  return { identifier, events: [{ kind: 'pull-request', action: known, pullRequest, sender: sender(user) }] }
}
